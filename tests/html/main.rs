//! report.html in a browser: runs, makes the page, and looks at it at a desk's and a phone's width, by
//! day and by night. Where there is no Chromium the tests are waived, but in scripts/test.sh.

#![cfg(feature = "mpi")]

mod browser;
#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use browser::{Browser, View};
use common::{Scratch, alone, mpirun, run};
use serde_json::{Value, json};

const QUICK: [&str; 8] = [
    "--backend",
    "host",
    "--budget",
    "0.1",
    "--warmup",
    "1",
    "--out",
    "o",
];

/// The page of a run with two ranks in `folder`.
fn page_of(folder: &Path, arguments: &[&str]) -> PathBuf {
    let arguments = [arguments, &QUICK].concat();
    run(mpirun(folder, 2, &arguments)).expect_code(0);
    folder.join("o/report.html")
}

/// The page of a run with curves. Made once, since it takes seconds.
fn feasibility() -> &'static Path {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    PAGE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let model = ["--model", "mixtral-8x7b"];
        page_of(
            &folder,
            &[&["feasibility", "--tokens", "1,2,4"], &model[..]].concat(),
        )
    })
}

/// What holds for every page.
fn looked_at(browser: &mut Browser, page: &Path, name: &str) {
    for view in View::ALL {
        browser.open(page, view);
        browser.picture(name, view);
        assert_eq!(browser.complaints(), [""; 0], "{name} {view:?}");
        let wider = browser
            .value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(wider, 0, "{name} {view:?} scrolls sideways");
        let faint = browser.value(FAINT);
        assert_eq!(
            faint,
            json!([]),
            "{name} {view:?}: text that is hard to read"
        );
        let bright = browser.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(bright == "rgb(255, 255, 255)", !view.dark, "{bright}");
    }
}

/// Texts whose contrast to what lies behind them is below 4.5, as WCAG counts it.
const FAINT: &str = r"(() => {
    const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const linear = [r, g, b].map((c) => {
            const share = c / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = parts(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) { return colour; }
        }
        return [255, 255, 255];
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const unseen = element.closest('script, style, [hidden]') || !element.checkVisibility();
        if (unseen || !walker.currentNode.data.trim()) { continue; }
        const style = getComputedStyle(element);
        const ink = light(parts(element.closest('svg') ? style.fill : style.color));
        const paper = light(behind(element));
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (contrast < 4.5) { faint.push([walker.currentNode.data, contrast]); }
    }
    return faint;
})()";

#[test]
fn a_burst_has_its_plot_and_its_figures() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let scratch = Scratch::new();
    let page = page_of(&scratch.0, &["allreduce-burst", "--ops", "20"]);
    looked_at(&mut browser, &page, "burst");
    assert_eq!(
        browser.value("document.querySelector('.badges').innerText"),
        "HOST MEMORY"
    );
    let image = "(() => { const image = document.querySelector('img'); return image.complete && image.naturalWidth; })()";
    assert_eq!(browser.value(image), 1200);
    let command = "document.getElementById('command-line').innerText";
    let command = browser.value(command);
    assert!(
        command
            .as_str()
            .unwrap()
            .starts_with("commbench allreduce-burst --ops 20 --backend host")
    );

    // Whether the clipboard is there or not, the button says what it did.
    let press = "(async () => { const button = document.querySelector('[data-copies]'); button.click(); await new Promise((done) => setTimeout(done, 100)); return button.innerText; })()";
    let said = browser.value(press);
    assert!(said == "Copied" || said == "Marked", "{said}");
    assert_eq!(browser.complaints(), [""; 0]);

    // The same page again from its data, to the last letter.
    let before = std::fs::read(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    run(alone(&scratch.0, &["report", "o"])).expect_code(0);
    assert_eq!(std::fs::read(&page).unwrap(), before);
}

/// Where the page has a point in the window, scrolled to it, and the point's words.
const POINT: &str = r"(() => {
    const data = JSON.parse(document.getElementById('data').textContent);
    const charts = [...document.querySelectorAll('.chart')].filter((one) => one.checkVisibility());
    const chart = charts[0];
    chart.scrollIntoView({ block: 'center' });
    const { places } = data.charts.find((one) => one.chart === chart.dataset.chart);
    const svg = chart.querySelector('svg');
    const box = svg.getBoundingClientRect();
    return {
        charts: charts.length,
        x: box.x + places[INDEX][0] * box.width / svg.viewBox.baseVal.width,
        y: box.y + places[INDEX][1] * box.height / svg.viewBox.baseVal.height,
        words: Object.values(data.points[INDEX]),
        value: data.points[INDEX].value.replace(' ms a step', ''),
        cells: [...document.querySelectorAll('#curves td')].map((cell) => cell.innerText),
    };
})()";

fn point(browser: &mut Browser, index: usize) -> Value {
    browser.value(&POINT.replace("INDEX", &index.to_string()))
}

fn shown(browser: &mut Browser) -> Value {
    browser.value("[...document.querySelectorAll('.tip.shown span')].map((line) => line.innerText)")
}

#[test]
fn curves_answer_to_mouse_finger_and_keys() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = feasibility();
    looked_at(&mut browser, page, "feasibility");
    for view in View::ALL {
        browser.open(page, view);
        assert_eq!(shown(&mut browser), json!([]));
        // The first curve lies apart from the others: only it can be meant.
        for index in [0, 1, 2] {
            let point = point(&mut browser, index);
            assert_eq!(point["charts"], 1, "one picture fits the page");
            let (x, y) = (point["x"].as_f64().unwrap(), point["y"].as_f64().unwrap());
            match view.width {
                390 => browser.tap(x, y),
                _ => browser.hover(x + 3.0, y - 3.0),
            }
            assert_eq!(shown(&mut browser), point["words"], "{view:?}");
            let cells = point["cells"].as_array().unwrap();
            assert!(cells.contains(&point["value"]), "{point}");
        }
        let inside = "(() => { const box = document.querySelector('.tip.shown').getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth; })()";
        assert_eq!(browser.value(inside), true, "{view:?}");
        browser.value("document.querySelector('.chart:not(.narrow)').focus()");
    }
    browser.open(page, View::ALL[0]);
    browser.press("Tab");
    browser.value("document.querySelector('.chart.wide').focus()");
    for (key, index) in [
        ("", 0),
        ("ArrowRight", 1),
        ("ArrowDown", 4),
        ("ArrowLeft", 3),
        ("ArrowUp", 0),
    ] {
        if !key.is_empty() {
            browser.press(key);
        }
        let words = point(&mut browser, index)["words"].clone();
        assert_eq!(shown(&mut browser), words, "{key}");
    }
    browser.press("Escape");
    assert_eq!(shown(&mut browser), json!([]));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_page_is_whole_without_scripts_and_on_paper() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = feasibility();
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.open(page, View::ALL[0]);
    browser.picture("without-scripts", View::ALL[0]);
    let lines = "[...document.querySelectorAll('.chart.wide path.line')].filter((line) => line.getBBox().width > 100).length";
    assert_eq!(browser.value(lines), 5, "a line a curve");
    let useless = "[...document.querySelectorAll('button')].filter((button) => button.checkVisibility()).length";
    assert_eq!(browser.value(useless), 0);
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": false}),
    );

    browser.open(page, View::ALL[1]);
    let paper =
        json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", paper);
    let ink = "getComputedStyle(document.body).color";
    assert_eq!(
        browser.value(ink),
        "rgb(31, 35, 40)",
        "dark on white, whatever the screen"
    );
    let printed = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
    assert!(
        printed["data"].as_str().unwrap().starts_with("JVBERi"),
        "a PDF"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn texts_of_a_result_do_nothing_to_the_page() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let scratch = Scratch::new();
    let folder = scratch.0.join("o");
    std::fs::create_dir(&folder).unwrap();
    for name in ["result.json", "samples.csv"] {
        let from = feasibility().with_file_name(name);
        std::fs::copy(from, folder.join(name)).unwrap();
    }
    let (page, json) = (folder.join("report.html"), folder.join("result.json"));
    let elements = "['*', 'script', 'style', 'img', 'iframe', 'link', 'svg'].map((name) => document.querySelectorAll(name).length)";
    let clean: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let with = |text: &str| {
        let mut result = clean.clone();
        plant(&mut result, text);
        std::fs::write(&json, result.to_string()).unwrap();
        run(alone(&scratch.0, &["report", "o"])).expect_code(0);
    };
    for payload in [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><style>*{display:none}</style>",
        "javascript:alert(1)\u{202e}\u{0}\u{1b}[2J",
    ] {
        // As long as the payload, since long names wrap.
        with(&"x".repeat(payload.chars().count()));
        browser.open(&page, View::ALL[0]);
        let before = browser.value(elements);
        with(payload);
        for view in [View::ALL[0], View::ALL[3]] {
            browser.open(&page, view);
            assert_eq!(browser.complaints(), [""; 0], "{payload}");
            assert_eq!(browser.value(elements), before, "{payload}");
            let point = point(&mut browser, 0);
            let at = |name: &str| point[name].as_f64().unwrap();
            browser.hover(at("x"), at("y"));
            assert_eq!(shown(&mut browser), point["words"]);
            let wider = browser.value("document.documentElement.scrollWidth - innerWidth");
            assert_eq!(wider, 0, "{payload}");
        }
        assert_eq!(browser.complaints(), [""; 0], "{payload}");
        browser.picture("hostile", View::ALL[3]);
    }
    // Were something to slip through, the browser would say so.
    std::fs::write(&page, "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><script>1</script><img src=x>").unwrap();
    browser.open(&page, View::ALL[0]);
    let complaints = browser.complaints();
    let refused = |said: &&String| said.contains("Content Security Policy");
    let refusals = complaints.iter().filter(refused).count();
    assert_eq!(refusals, 2, "{complaints:?}");
}

/// Puts the payload before the texts of a result that no reader knows by heart.
fn plant(result: &mut Value, payload: &str) {
    let planted = |value: &mut Value| {
        *value = json!(format!("{payload}{}", value.as_str().unwrap_or_default()));
    };
    for place in [
        "/command/name",
        "/command/version",
        "/command/started_at",
        "/command/argv/1",
        "/command/environment/NCCL_DEBUG",
        "/machine/hosts/0/name",
        "/machine/hosts/0/cpu",
        "/machine/hosts/0/kernel",
        "/machine/mpi",
        "/machine/driver",
        "/machine/cuda",
        "/machine/nccl_version",
        "/machine/nccl_library",
        "/model/name",
        "/model/source",
        "/warnings/0/text",
        "/warnings/0/remedy",
        "/verdict/pairs/0/plan",
        "/verdict/plans/0/plan",
        "/verdict/reference",
    ] {
        planted(
            result
                .pointer_mut(place)
                .unwrap_or_else(|| panic!("{place}")),
        );
    }
    result["machine"]["transports"] = json!([payload]);
    for one in result["results"].as_array_mut().unwrap() {
        for place in [
            "/label",
            "/plan/title",
            "/plan/origin",
            "/step/place/curve",
            "/conditions/calls",
            "/conditions/nccl_choice",
        ] {
            match one.pointer_mut(place) {
                Some(value) => planted(value),
                // The burst at batch 1, which the curves are held against, is a point of none.
                None => assert!(
                    place.starts_with("/step") && one["step"].is_null(),
                    "{place}"
                ),
            }
        }
    }
}
