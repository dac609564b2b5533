use super::*;
use crate::topology::{
    LinkKind, NodeKind, PathClass, Topology, topology_preset, topology_preset_names,
};
use proptest::prelude::*;

const SMALL: &str = "<!-- by hand -->\n<system version=\"1\">\n  \
<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"106\">\n    \
<pci busid=\"0000:0C:00.0\" class=\"0x060400\" vendor=\"0x11f8\" device=\"0x4000\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"> <!-- switch -->\n      \
<pci busid=\"0000:0f:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"8\" flavour=\"a &lt; b\">\n        \
<gpu dev=\"1\" sm=\"80\" rank=\"1\">\n          <nvlink target=\"0000:10:00.0\" count=\"4\" tclass=\"0x030200\"/>\n        </gpu>\n      </pci>\n      \
<pci busid=\"0000:10:00.0\" class=\"0x030200\" link_speed=\"\" link_width=\"0\">\n        \
<gpu dev=\"0\" sm=\"80\" rank=\"0\">\n          <nvlink target=\"0000:0f:00.0\" count=\"4\" tclass=\"0x030200\"/>\n          <c2c count=\"1\"/>\n        </gpu>\n      </pci>\n    \
</pci>\n  </cpu>\n  \
<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n    \
<pci busid=\"0000:81:00.0\" class=\"0x030000\" vendor=\"0x10de\"/>\n    \
<pci busid=\"0000:82:00.0\" class=\"0x020000\"/>\n  </cpu>\n</system>\n";

fn read(text: &str) -> Topology {
    topology_of_xml(&parse_xml(text).unwrap(), "x").unwrap()
}

fn refused(text: &str) -> String {
    match parse_xml(text).and_then(|file| topology_of_xml(&file, "x")) {
        Ok(_) => "nothing".to_string(),
        Err(flaw) => flaw.to_string(),
    }
}

#[test]
fn a_file_is_written_out_as_it_was() {
    assert_eq!(parse_xml(SMALL).unwrap().text(), SMALL);
    // Spaces within tags are the file's only freedom that does not come back.
    let loose = "<?xml version=\"1.0\"?>\n<a  b='1'\n  c=\"it's &#65;&amp;\" ></a>\n";
    let tight = "<?xml version=\"1.0\"?>\n<a b=\"1\" c=\"it's A&amp;\"/>\n";
    assert_eq!(parse_xml(loose).unwrap().text(), tight);
}

#[test]
fn the_graph_of_a_file_has_its_parts() {
    let machine = read(SMALL);
    let gpus = machine.gpus();
    assert_eq!(gpus.len(), 3);
    assert_eq!(machine.class(gpus[0], gpus[1]), PathClass::NvLink(4));
    assert_eq!(machine.class(gpus[0], gpus[2]), PathClass::Sys);
    assert_eq!(machine.pcie_route(gpus[0], gpus[1]).len(), 2);
    assert_eq!(
        machine.node(gpus[1]).address.as_deref(),
        Some("0000:0f:00.0")
    );
    let (link, switch) = machine.above(gpus[1]).unwrap();
    assert!(
        matches!(machine.link(link).kind, LinkKind::Pcie(pcie) if pcie.now.unwrap().width == 8)
    );
    let NodeKind::Switch(found) = &machine.node(switch).kind else {
        panic!("{machine:?}");
    };
    assert_eq!(found.model.unwrap().name, "Microchip Switchtec Gen4");
    // Said with an empty speed and no width.
    assert_eq!(machine.link(machine.above(gpus[0]).unwrap().0).rate, None);
    let sockets = machine
        .links()
        .iter()
        .find(|link| matches!(link.kind, LinkKind::InterSocket { .. }));
    assert_eq!(sockets.unwrap().rate.unwrap().gb_per_s, 10.0);
    assert!(machine.notes[0].contains("c2c"), "{:?}", machine.notes);
}

#[test]
fn machines_become_files_that_read_back_the_same() {
    for name in topology_preset_names() {
        let once = topology_preset(name).unwrap().unwrap();
        let text = topology_xml(&once).text();
        assert_eq!(parse_xml(&text).unwrap().text(), text);
        let again = read(&text);
        assert_eq!(once.gpus().len(), again.gpus().len(), "{text}");
        for (one, same) in once.gpus().iter().zip(again.gpus()) {
            for (other, its) in once.gpus().iter().zip(again.gpus()) {
                let (class, back) = (once.class(*one, *other), again.class(*same, *its));
                // Host bridges do not stand in NCCL's files.
                let expected = match class {
                    PathClass::Node => PathClass::Phb,
                    class => class,
                };
                assert_eq!(back, expected, "{name}: {text}");
            }
        }
        let second = topology_xml(&again).text();
        assert_eq!(topology_xml(&read(&second)).text(), second);
    }
}

#[test]
fn what_is_no_machine_is_refused_with_the_line() {
    let cases = [
        ("</pci>\n  </cpu>", "</cpu>", "line "),
        (
            "numaid=\"1\"",
            "numaid=\"0\"",
            "line 18: two parts are called 'cpu0' (the other: line 3)",
        ),
        (
            "numaid=\"1\"",
            "numaid=\"x\"",
            "line 18: numaid=\"x\" is no number",
        ),
        ("0000:82:00.0", "0000:81:00.0", ""),
        (
            "0000:0f:00.0\" class",
            "0000:10:00.0\" class",
            "two GPUs at 0000:10:00.0",
        ),
        (
            "0000:0f:00.0\" class",
            "here\" class",
            "line 5: 'here' is no PCI address",
        ),
        (
            "busid=\"0000:82:00.0\" ",
            "",
            "line 20: <pci> without busid",
        ),
        (
            "class=\"0x020000\"",
            "class=\"nic\"",
            "line 20: class=\"nic\" is no hexadecimal number",
        ),
        ("dev=\"1\"", "dev=\"0\"", "two parts are called 'GPU0'"),
        ("dev=\"1\"", "dev=\"-1\"", "line 6: dev=\"-1\" is no number"),
        (
            "link_width=\"8\"",
            "link_width=\"7\"",
            "line 5: no link has width 7",
        ),
        ("count=\"4\"", "count=\"0\"", "line 7: 0 NVLinks"),
        (
            "count=\"4\"",
            "count=\"4000000000\"",
            "line 7: 4000000000 NVLinks",
        ),
        ("<system version=\"1\">", "<system version=1>", "line 2: "),
        ("a &lt; b", "a &lol; b", "line 5: "),
        ("by hand -->", "by hand", "line 1"),
        ("</system>", "", "line 2"),
        (
            "<!-- by hand -->",
            "<!DOCTYPE x [<!ENTITY a \"b\">]>",
            "line 1: it declares a document type",
        ),
        (
            "<!-- by hand -->",
            "<a/>",
            "line 2: a second outermost element",
        ),
    ];
    for (from, to, hint) in cases {
        assert!(SMALL.contains(from), "{from}");
        let said = refused(&SMALL.replacen(from, to, 1));
        assert!(said.contains(hint), "{from} -> {to}: {said}");
    }
    assert!(
        refused("").contains("there is no element"),
        "{}",
        refused("")
    );
    assert!(refused("<graphs version=\"1\"/>").contains("graph file"));
    assert!(refused("<html/>").contains("<html>"));
    assert!(refused("<system/>").contains("there is no CPU"));
    let deep = "<a>".repeat(100_000);
    assert!(refused(&deep).contains("deep"), "{}", refused(&deep));
    let many = format!("<system>{}</system>", "<cpu/>".repeat(30_000));
    assert!(refused(&many).contains("more than 20000 elements"));
    let cpus: String = (0..300).map(|n| format!("<cpu numaid=\"{n}\"/>")).collect();
    let said = refused(&format!("<system>{cpus}</system>"));
    assert!(said.contains("more than 64 CPUs"), "{said}");
}

#[test]
fn every_shared_file_round_trips() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/topo");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("waived: no {}", folder.display());
        return;
    };
    let mut count = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = path.display();
        let file = parse_xml(&text).unwrap_or_else(|flaw| panic!("{shown}: {flaw}"));
        assert_eq!(file.text(), text, "{shown}");
        match topology_of_xml(&file, "x") {
            Ok(_) => {}
            Err(flaw) => assert!(flaw.to_string().contains("graph file"), "{shown}: {flaw}"),
        }
        count += 1;
    }
    assert!(count > 0, "no file in {}", folder.display());
}

/// Any small tree.
fn element() -> impl Strategy<Value = XmlNode> {
    let name = "[a-z][a-z0-9_]{0,6}";
    let value = "[ -~äµ\n\t]{0,12}";
    let leaf =
        (name, prop::collection::btree_map(name, value, 0..4)).prop_map(|(name, attributes)| {
            XmlElement {
                name,
                attributes: attributes.into_iter().collect(),
                children: Vec::new(),
                line: 0,
            }
        });
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let text = "[ -~äµ\n]{1,12}".prop_map(XmlNode::Text);
        let child = prop_oneof![
            4 => inner.prop_map(XmlNode::Element),
            1 => text,
            1 => Just(XmlNode::Verbatim("<!-- as it was -->".to_string())),
        ];
        (name, prop::collection::vec(child, 0..4)).prop_map(|(name, children)| XmlElement {
            name,
            attributes: Vec::new(),
            children,
            line: 0,
        })
    })
    .prop_map(XmlNode::Element)
}

proptest! {
    #[test]
    fn any_tree_is_read_back_as_it_was_written(node in element()) {
        let text = XmlFile { nodes: vec![node] }.text();
        let again = parse_xml(&text).map(|file| file.text());
        prop_assert_eq!(again, Ok(text));
    }

    #[test]
    fn no_text_panics(text in "(?s)[<>/a-z=\"&;! -]{0,80}|.{0,80}") {
        refused(&text);
    }

    #[test]
    fn no_damage_panics(place in 0usize..1500, length in 0usize..30, with in "[<>/a-z=\"&;0-9 ]{0,6}") {
        let mut text = SMALL.to_string();
        let start = place.min(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &with);
        refused(&text);
    }
}
