//! `hpccinf.txt`, line by line. What the original would take for something else, it is told here with the line's number.

/// The contents of an input file: lists of HPL's parameters and extra sizes of PTRANS.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Orders.
    pub ns: Vec<u64>,
    /// Block sizes.
    pub nbs: Vec<u64>,
    /// `row` or `column`.
    pub mapping: &'static str,
    /// Process rows and columns.
    pub grids: Vec<(u64, u64)>,
    /// Largest residual that passes.
    pub threshold: f64,
    /// Panel factorizations.
    pub pfacts: Vec<&'static str>,
    /// Where recursions stop.
    pub nbmins: Vec<u64>,
    /// Parts of a recursion.
    pub ndivs: Vec<u64>,
    /// Recursive factorizations.
    pub rfacts: Vec<&'static str>,
    /// Panel broadcasts.
    pub bcasts: Vec<&'static str>,
    /// Look-ahead depths.
    pub depths: Vec<u64>,
    /// Row interchange.
    pub swap: &'static str,
    /// Columns up to which `mix` is binary.
    pub swap_threshold: u64,
    /// Alignment in numbers.
    pub align: u64,
    /// Extra orders of PTRANS.
    pub ptrans_ns: Vec<u64>,
    /// Extra block sizes of PTRANS.
    pub ptrans_nbs: Vec<u64>,
    /// What was read and means nothing here.
    pub notes: Vec<String>,
}

/// Values in a list at most.
// HPL_MAX_PARAM of the original.
const MOST: u64 = 20;
/// The largest number; the original reads them into 32 bits.
const LARGEST: i64 = 1_000_000_000;
const FACTS: [&str; 3] = ["left", "crout", "right"];
const BCASTS: [&str; 6] = ["1ring", "1ringM", "2ring", "2ringM", "long", "longM"];

struct Lines<'a> {
    lines: Vec<&'a str>,
}

impl Lines<'_> {
    /// The words of line `number`, counted from one.
    fn words(&self, number: usize, what: &str) -> Result<Vec<&str>, String> {
        let line = self.lines.get(number - 1);
        let line = line.ok_or_else(|| format!("line {number} is missing: {what} must stand there"))?;
        Ok(line.split_whitespace().collect())
    }

    fn real(&self, number: usize, what: &str) -> Result<f64, String> {
        let words = self.words(number, what)?;
        let word = words.first().copied().unwrap_or_default();
        let value = word.parse::<f64>().ok().filter(|x| x.is_finite());
        value.ok_or_else(|| format!("line {number}: `{word}` is not a number; {what} must stand there"))
    }

    fn list(&self, number: usize, count: u64, least: i64, what: &str) -> Result<Vec<i64>, String> {
        let words = self.words(number, what)?;
        if (words.len() as u64) < count {
            return Err(format!("line {number} has {} values, but {count} of {what} are announced", words.len()));
        }
        let read = |word: &&str| match word.parse::<i64>() {
            Err(_) => Err(format!("line {number}: `{word}` is not a whole number; {what} must stand there")),
            Ok(x) if x > LARGEST => Err(format!("line {number}: {what} {x} is more than {LARGEST}")),
            Ok(x) if x < least => Err(format!("line {number}: {what} {x} is less than {least}")),
            Ok(x) => Ok(x),
        };
        // Values beyond the announced number are comment, as everything behind the values of a line.
        words[..count as usize].iter().map(read).collect()
    }

    fn one(&self, number: usize, least: i64, what: &str) -> Result<i64, String> {
        Ok(self.list(number, 1, least, what)?[0])
    }

    /// How many values the next line has.
    fn count(&self, number: usize, least: u64, what: &str) -> Result<u64, String> {
        let count = self.one(number, i64::MIN, &format!("the number of {what}"))?;
        let fits = u64::try_from(count).ok().filter(|c| (least..=MOST).contains(c));
        fits.ok_or_else(|| format!("line {number}: {count} {what}; between {least} and {MOST} are possible"))
    }

    /// A count and, on the line after it, so many values.
    fn counted(&self, number: usize, least: i64, what: &str) -> Result<Vec<u64>, String> {
        let count = self.count(number, 1, what)?;
        Ok(self.list(number + 1, count, least, what)?.into_iter().map(|x| x as u64).collect())
    }

    /// As `counted`, each value the number of a word; other numbers mean `other`.
    fn named(
        &self,
        number: usize,
        words: &[&'static str],
        other: usize,
        what: &str,
    ) -> Result<Vec<&'static str>, String> {
        let count = self.count(number, 1, what)?;
        let values = self.list(number + 1, count, i64::MIN, what)?;
        // HPL takes a default for numbers that it does not know, so files that it accepts are accepted here.
        let name = |x: i64| usize::try_from(x).ok().and_then(|x| words.get(x)).copied().unwrap_or(words[other]);
        Ok(values.into_iter().map(name).collect())
    }
}

impl Input {
    /// Reads a file's text. A mistake is named with its line.
    pub fn read(text: &str) -> Result<Input, String> {
        let lines = Lines { lines: text.lines().collect() };
        let mut notes = Vec::new();
        // Lines 1 to 4 are not looked at: the original ignores titles, file name and device, too.
        let mapping = if lines.one(9, i64::MIN, "the mapping (0 or 1)")? == 1 { "column" } else { "row" };
        let grids = lines.count(10, 1, "grids")?;
        let ps = lines.list(11, grids, 1, "P")?;
        let qs = lines.list(12, grids, 1, "Q")?;
        let depths = lines.counted(24, 0, "look-ahead depths")?;
        // These three choose nothing here, but a file in which they are missing is not in order.
        for (number, what) in [(28, "L1 form"), (29, "U form"), (30, "equilibration")] {
            lines.one(number, i64::MIN, what)?;
        }
        notes.push(
            "the forms of L1 and U and equilibration are read; this implementation has one form of each".to_string(),
        );
        let align = lines.one(31, i64::MIN, "the alignment")?;
        let (ptrans_ns, ptrans_nbs) =
            (lines.extra(33, "extra N of PTRANS", &mut notes), lines.extra(35, "extra NB of PTRANS", &mut notes));
        Ok(Input {
            ns: lines.counted(5, 0, "N")?,
            nbs: lines.counted(7, 1, "NB")?,
            mapping,
            grids: ps.into_iter().zip(qs).map(|(p, q)| (p as u64, q as u64)).collect(),
            threshold: lines.real(13, "the threshold")?,
            pfacts: lines.named(14, &FACTS, 2, "PFACT")?,
            nbmins: lines.counted(16, 1, "NBMIN")?,
            ndivs: lines.counted(18, 2, "NDIV")?,
            rfacts: lines.named(20, &FACTS, 2, "RFACT")?,
            bcasts: lines.named(22, &BCASTS, 1, "BCAST")?,
            depths,
            swap: match lines.one(26, i64::MIN, "the swap variant")? {
                0 => "binary",
                2 => "mix",
                _ => "long",
            },
            swap_threshold: lines.one(27, i64::MIN, "the swap threshold")?.max(0) as u64,
            // A wrong alignment is 4 to HPL, and a swap threshold below 0 is 0.
            align: if align > 0 { align as u64 } else { 4 },
            ptrans_ns,
            ptrans_nbs,
            notes,
        })
    }
}

impl Lines<'_> {
    /// PTRANS's lines may be missing or wrong: the original goes on without them and says so.
    fn extra(&self, number: usize, what: &str, notes: &mut Vec<String>) -> Vec<u64> {
        if self.lines.len() < number {
            return Vec::new();
        }
        let read = || -> Result<Vec<u64>, String> {
            let count = self.count(number, 0, what)?;
            if count == 0 {
                return Ok(Vec::new());
            }
            Ok(self.list(number + 1, count, 1, what)?.into_iter().map(|x| x as u64).collect())
        };
        read().unwrap_or_else(|error| {
            notes.push(format!("{error}; PTRANS runs without it"));
            Vec::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const SAMPLE: &str = "title\ntitle\nHPL.out output file\n8 device\n2 Ns\n1000 2000 Ns\n1 NBs\n80 NBs\n0 PMAP\n1 grids\n2 Ps\n\
        2 Qs\n16.0 threshold\n1 PFACTs\n2 PFACT\n2 NBMIN\n2 4 NBMINs\n1 NDIVs\n2 NDIV\n1 RFACTs\n1 RFACT\n1 BCASTs\n1 BCAST\n1 depths\n\
        2 depth\n2 SWAP\n64 threshold\n0 L1\n0 U\n1 equil\n8 align\n##### PTRANS\n1 extra Ns\n1200 N\n0 extra NBs\n40 NB\n";

    #[test]
    fn the_sample_is_read() {
        let input = Input::read(SAMPLE).unwrap();
        assert_eq!((input.ns, input.nbs, input.grids), (vec![1000, 2000], vec![80], vec![(2, 2)]));
        assert_eq!((input.nbmins, input.ndivs, input.depths), (vec![2, 4], vec![2], vec![2]));
        assert_eq!((input.pfacts, input.rfacts, input.bcasts), (vec!["right"], vec!["crout"], vec!["1ringM"]));
        assert_eq!((input.swap, input.swap_threshold, input.align, input.mapping), ("mix", 64, 8, "row"));
        assert_eq!((input.ptrans_ns, input.ptrans_nbs), (vec![1200], vec![]));
        assert!(input.notes[0].contains("forms of L1"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let line = |number: usize, text: &str| {
            let lines: Vec<&str> =
                SAMPLE.lines().enumerate().map(|(i, l)| if i + 1 == number { text } else { l }).collect();
            Input::read(&lines.join("\n")).unwrap_err()
        };
        assert_eq!(line(5, "0"), "line 5: 0 N; between 1 and 20 are possible");
        assert_eq!(line(5, "21"), "line 5: 21 N; between 1 and 20 are possible");
        assert_eq!(line(5, "3"), "line 6: `Ns` is not a whole number; N must stand there");
        assert_eq!(line(6, "10"), "line 6 has 1 values, but 2 of N are announced");
        assert_eq!(line(6, "10 -5"), "line 6: N -5 is less than 0");
        assert_eq!(line(8, "x"), "line 8: `x` is not a whole number; NB must stand there");
        assert_eq!(line(8, "0"), "line 8: NB 0 is less than 1");
        assert_eq!(line(12, "0"), "line 12: Q 0 is less than 1");
        assert_eq!(line(13, "hot"), "line 13: `hot` is not a number; the threshold must stand there");
        assert_eq!(line(19, "1"), "line 19: NDIV 1 is less than 2");
        assert!(Input::read("one\ntwo\n").unwrap_err().starts_with("line 9 is missing"));
        assert!(Input::read("").is_err());
    }
}
