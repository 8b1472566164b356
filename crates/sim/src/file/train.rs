//! What packets weigh: a simulated packet is one of the real network, or a train of them.
//!
//! A network of small packets (Aries: 64 bytes) is simulated in trains, because the cost of a simulation is that of its packets. What a
//! train weighs is what its packets weigh: each has a header. A get asks for each unit by a packet, a put is acknowledged for each.
//!
//! Not modelled: gaps between the packets of a train, and other ways for each of them.

use super::config::NicConfig;

impl NicConfig {
    /// Packets of the real network with so much payload.
    fn units(&self, payload: u64) -> u64 {
        if self.unit == 0 { 1 } else { payload.div_ceil(u64::from(self.unit)).max(1) }
    }

    fn header_of(&self, asked: bool) -> u32 {
        if asked { self.asked_header } else { self.header }
    }

    /// Length on the wire of a packet, of data that were asked for or others.
    #[inline]
    pub(crate) fn wire(&self, payload: u32, asked: bool) -> u32 {
        let header = self.header_of(asked);
        if self.unit == 0 { payload + header } else { payload + self.units(u64::from(payload)) as u32 * header }
    }

    /// The payload of a packet of such a length.
    #[inline]
    pub(crate) fn payload(&self, wire: u32, asked: bool) -> u32 {
        let header = self.header_of(asked);
        if self.unit == 0 { wire - header } else { wire - wire.div_ceil(self.unit + header) * header }
    }

    /// What stands for the payload of requests of so many bytes each, for a message of such a length: with its headers it weighs what
    /// they do.
    pub(crate) fn beside(&self, each: u32, len: u64) -> u32 {
        let sum = if self.unit == 0 { 0 } else { self.units(len).saturating_mul(u64::from(each)) };
        if sum <= u64::from(self.header) {
            return 0;
        }
        self.payload(u32::try_from(sum).unwrap_or(u32::MAX), false)
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn a_length_on_the_wire_tells_its_payload() {
        for unit in [0, 1, 7, 64] {
            let text = format!(
                "[nic]\nmtu = 2048\nheader = 20\nasked_header = 8\nunit = {unit}\n[switch]\nbuffer = \"64KiB\""
            );
            let nic = Config::from_toml(&text).unwrap().nic;
            for asked in [false, true] {
                for payload in 0..=2048 {
                    assert_eq!(nic.payload(nic.wire(payload, asked), asked), payload, "{unit} {asked}");
                }
            }
        }
    }

    /// WP-Aries01-1112: a put of 64 bytes has 14 phits and is answered by one, a get asks by 3 and is answered by 12.
    #[test]
    fn trains_weigh_what_their_packets_do() {
        let text = "[nic]\nmtu = 2048\nheader = 20\nasked_header = 8\nunit = 64\nrequest = 18\nanswer = 6";
        let nic = Config::from_toml(text).unwrap().nic;
        assert_eq!((nic.wire(64, false), nic.wire(64, true)), (14 * 6, 12 * 6));
        assert_eq!((nic.wire(2048, false), nic.wire(2048, true)), (32 * 84, 32 * 72));
        assert_eq!((nic.wire(8, false), nic.wire(0, false), nic.wire(65, false)), (28, 20, 105));
        // One header more or less: what stands for a train of requests ends where the last of them does.
        for (each, len) in [(18, 4096), (18, 1 << 17), (6, 4096)] {
            let (is, should) = (nic.wire(nic.beside(each, len), false), (len / 64) as u32 * each);
            assert!(is.abs_diff(should) <= 20, "{is} {should}");
        }
        assert_eq!((nic.beside(18, 8), nic.beside(6, 64)), (0, 0));
    }
}
