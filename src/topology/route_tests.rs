//! Ways through machines that are worked out by hand.

use super::*;
use proptest::prelude::*;

fn preset(name: &str) -> Topology {
    topology_preset(name).unwrap().unwrap()
}

/// Names along a route, from its start on.
fn names(topology: &Topology, route: &[DirectedLink]) -> Vec<String> {
    let name = |id: NodeId| topology.node(id).name.clone();
    let mut names: Vec<String> = route
        .iter()
        .map(|hop| name(hop.ends(topology)[0]))
        .collect();
    names.extend(route.last().map(|hop| name(hop.ends(topology)[1])));
    names
}

#[test]
fn a_route_crosses_sockets_and_comes_down_again() {
    let box_ = preset("virtual-switches-2socket-8g");
    let gpus = box_.gpus();
    assert_eq!(
        names(&box_, &box_.route(gpus[0], gpus[7])),
        [
            "GPU0", "VS0", "10:01.1", "cpu0", "cpu1", "f0:01.1", "VS3", "GPU7"
        ]
    );
    assert_eq!(
        names(&box_, &box_.route(gpus[7], gpus[6])),
        ["GPU7", "VS3", "GPU6"]
    );
    assert!(box_.route(gpus[3], gpus[3]).is_empty());
    assert_eq!(box_.class(gpus[3], gpus[3]), PathClass::Same);
}

#[test]
fn nvlink_goes_before_pcie_and_both_can_be_asked_for() {
    let hgx = preset("hgx-h200-8g");
    let gpus = hgx.gpus();
    assert_eq!(
        names(&hgx, &hgx.route(gpus[0], gpus[4])),
        ["GPU0", "NVSwitch", "GPU4"]
    );
    assert_eq!(
        names(&hgx, &hgx.pcie_route(gpus[0], gpus[4])),
        ["GPU0", "SW0", "cpu0", "cpu1", "SW4", "GPU4"]
    );
    let rate = hgx.link(hgx.route(gpus[0], gpus[4])[0].link).rate.unwrap();
    assert!((rate.gb_per_s - 18.0 * 20.6).abs() < 1e-9);
    let socket = hgx.link(hgx.pcie_route(gpus[0], gpus[4])[2].link).rate;
    assert_eq!(socket.unwrap().gb_per_s, 22.0);
}

#[test]
fn sockets_in_a_row_are_crossed_one_after_another() {
    let mut text = String::from("schema = \"commbench/topology/1\"\nname = \"row\"\n");
    for cpu in 0..4 {
        text.push_str(&format!("[[cpu]]\nname = \"c{cpu}\"\n"));
        text.push_str(&format!("[[gpus]]\nunder = \"c{cpu}\"\nids = [{cpu}]\n"));
    }
    for cpu in 0..3 {
        text.push_str(&format!(
            "[[cpu_link]]\nbetween = [\"c{}\", \"c{cpu}\"]\n",
            cpu + 1
        ));
    }
    let row = parse_topology_toml(&text).unwrap();
    let route = row.route(row.gpus()[0], row.gpus()[3]);
    assert_eq!(
        names(&row, &route),
        ["GPU0", "c0", "c1", "c2", "c3", "GPU3"]
    );
}

proptest! {
    /// On every machine that is built in, for every pair.
    #[test]
    fn routes_are_chains_that_come_back_over_the_other_directions(
        which in 0usize..8, one in 0usize..16, other in 0usize..16, over_pcie: bool,
    ) {
        let machine = preset(topology_preset_names()[which]);
        let gpus = machine.gpus();
        let (from, to) = (gpus[one % gpus.len()], gpus[other % gpus.len()]);
        let route = |from, to| if over_pcie { machine.pcie_route(from, to) } else { machine.route(from, to) };
        let there = route(from, to);
        prop_assert_eq!(there.is_empty(), from == to);
        let mut at = from;
        for hop in &there {
            let [start, end] = hop.ends(&machine);
            prop_assert_eq!(start, at);
            at = end;
        }
        prop_assert_eq!(at, to);
        let mut back = route(to, from);
        back.reverse();
        for (hop, reverse) in there.iter().zip(&back) {
            prop_assert_eq!(hop.link, reverse.link);
            prop_assert_ne!(hop.resource(), reverse.resource());
            prop_assert!(hop.resource() < 2 * machine.links().len());
        }
        prop_assert_eq!(machine.class(from, to), machine.class(to, from));
    }
}
