//! A headless Chromium, spoken to over a pipe in the DevTools protocol: real pointers and keys, real
//! colours, and every complaint that a page gives rise to.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use crate::common::Scratch;

/// Names under which distributions and Google ship it.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// No answer takes longer on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Of the page, in CSS pixels.
    pub width: u32,
    pub dark: bool,
}

impl View {
    /// A desk's and a phone's width, by day and by night.
    pub const ALL: [View; 4] = [
        View::new(1280, false),
        View::new(1280, true),
        View::new(390, false),
        View::new(390, true),
    ];

    const fn new(width: u32, dark: bool) -> View {
        View { width, dark }
    }
}

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    complaints: Vec<String>,
    /// Its profile; removed with it.
    _profile: Scratch,
}

impl Browser {
    /// `None` where there is no Chromium, which scripts/test.sh does not let pass.
    pub fn start() -> Option<Browser> {
        let Some(program) = installed() else {
            assert!(
                std::env::var_os("COMMBENCH_TESTS_NEED_CHROMIUM").is_none(),
                "Chromium is not installed"
            );
            eprintln!("waived: no Chromium");
            return None;
        };
        let profile = Scratch::new();
        // It reads orders from descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                // Root in a container has no sandbox; the pages are this test's own.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.0.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(bytes) = message else { return };
                let message = serde_json::from_slice(&bytes).unwrap();
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            last_id: 0,
            session: None,
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", attach);
        self.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Gives an order and waits for the answer; what a page says meanwhile is kept.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut order = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("Chromium listens");
        loop {
            let message = self.from.recv_timeout(DEADLINE);
            let message = message.unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.complaints.extend(complaint(&message));
        }
    }

    /// The value of an expression of the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path, view: View) {
        let phone = view.width < 500;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": view.width, "height": 800, "deviceScaleFactor": 1, "mobile": phone}),
        );
        self.call(
            "Emulation.setTouchEmulationEnabled",
            json!({"enabled": phone}),
        );
        let scheme = if view.dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        // Another address first: a page that is open already would not be loaded again.
        for url in [
            "about:blank".to_string(),
            format!("file://{}", file.display()),
        ] {
            self.call("Page.navigate", json!({"url": url}));
            let loaded = format!("document.readyState === 'complete' && location.href === {url:?}");
            let begin = Instant::now();
            while self.value(&loaded) != json!(true) {
                assert!(begin.elapsed() < DEADLINE, "{url} is not loaded");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// What pages gave rise to since the last call: errors, violations of their policy, dialogs,
    /// and requests that leave the page.
    pub fn complaints(&mut self) -> Vec<String> {
        // What a page has said stands before the answer.
        self.value("1");
        std::mem::take(&mut self.complaints)
    }

    /// The whole page as a PNG file, where somebody wants to look: in the folder that
    /// COMMBENCH_SCREENSHOTS names.
    pub fn picture(&mut self, name: &str, view: View) {
        let Some(folder) = std::env::var_os("COMMBENCH_SCREENSHOTS") else {
            return;
        };
        let params = json!({"captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", params);
        let bytes = BASE64_STANDARD
            .decode(answer["data"].as_str().unwrap())
            .unwrap();
        let scheme = if view.dark { "dark" } else { "light" };
        let file = PathBuf::from(folder).join(format!("{name}-{}-{scheme}.png", view.width));
        std::fs::write(file, bytes).unwrap();
    }

    /// Puts the mouse there, in CSS pixels of the window.
    pub fn hover(&mut self, x: f64, y: f64) {
        let params = json!({"type": "mouseMoved", "x": x, "y": y});
        self.call("Input.dispatchMouseEvent", params);
    }

    pub fn tap(&mut self, x: f64, y: f64) {
        let params = json!({"type": "touchStart", "touchPoints": [{"x": x, "y": y}]});
        self.call("Input.dispatchTouchEvent", params);
        self.call(
            "Input.dispatchTouchEvent",
            json!({"type": "touchEnd", "touchPoints": []}),
        );
    }

    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self
            .to
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let in_folders = |name: &str| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    NAMES.into_iter().find_map(in_folders)
}

/// The words of a message that no report may give rise to.
fn complaint(message: &Value) -> Option<String> {
    let params = &message["params"];
    match message["method"].as_str()? {
        "Log.entryAdded" => Some(params["entry"]["text"].to_string()),
        "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => Some(params.to_string()),
        "Page.javascriptDialogOpening" => Some(format!("a dialog: {params}")),
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            let is_page = params["type"] == "Document" && url.starts_with("file://");
            (!is_page && !url.starts_with("data:")).then(|| format!("a request: {url}"))
        }
        _ => None,
    }
}
