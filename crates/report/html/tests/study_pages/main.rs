//! Pages of made-up studies: their outline, their statements, and that no text from outside breaks
//! the markup.

mod made;

use iolab_html::{collection_page, study_page};
use iolab_recording::{Finding, Severity};
use iolab_statistics::{DecisionRules, SniaRules};
use iolab_study::{
    Before, Collection, Figure, PreconditionKind, Preconditioned, Purge, TrialId, TrialWarmUp, WarmUp, WarmUpMethod,
};
use iolab_testkit::html::read_html;

use made::{HEAD, engines, made, plain, report, shown};

#[test]
fn the_outline_begins_with_what_came_out() {
    let (_, page) = shown(&engines());
    let outline: Vec<String> = page.headings.iter().map(|(level, text)| format!("{level} {text}")).collect();
    assert_eq!(
        outline,
        [
            "1 Interfaces",
            "2 Results",
            "3 Best configuration:",
            "3 Conclusions",
            "2 Verdicts",
            "3 iops",
            "3 p99",
            "2 Figures",
            "3 Percentile spectrum",
            "3 Side by side",
            "2 All results",
            "2 Cost",
            "2 Environment",
            "2 How to repeat it",
            "3 The job of every trial",
        ]
    );
    for landmark in ["header", "nav", "main", "footer"] {
        assert_eq!(page.elements.iter().filter(|name| *name == landmark).count(), 1, "{landmark}");
    }
    for (name, value) in [("lang", "en"), ("class", "skip"), ("scope", "col"), ("scope", "row")] {
        assert!(page.attributes.iter().any(|one| one.0 == name && one.1 == value), "{name}={value}");
    }
    let captions = page.elements.iter().filter(|name| *name == "caption").count();
    assert_eq!(captions, page.elements.iter().filter(|name| *name == "table").count());
}

#[test]
fn clear_results_are_said_with_their_size() {
    let (_, page) = shown(&engines());
    let text = plain(&page);
    let expected = "iops (operations per second): best is libaio with 15.";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("▲ better than psync (× 2.00 [× "), "{text}");
    assert!(text.contains("Percentile spectrum") && text.contains("14 trials: 2 configurations in 7 blocks"), "{text}");
}

#[test]
fn what_cannot_be_concluded_is_explained() {
    let mut few = engines();
    few.study.blocks = 2;
    few.trials.retain(|trial| trial.block < 2);
    few.digests.retain(|digest| digest.planned.block < 2);
    few.design.trials.retain(|planned| planned.block < 2);
    let (_, page) = shown(&few);
    let text = plain(&page);
    assert!(
        text.contains("ioengine=libaio looks best: ")
            && text.contains(", large; repeat at least 3 times to be sure at 95 %"),
        "{text}"
    );
    let mut none = engines();
    none.trials.iter_mut().for_each(|trial| trial.values[1] = None);
    let (_, page) = shown(&none);
    let expected = "no trial has enough samples for this percentile (1,000 operations); run longer trials.";
    assert!(plain(&page).contains(expected));
    let mut open = engines();
    open.trials.truncate(9);
    open.digests.truncate(9);
    let (_, page) = shown(&open);
    let text = plain(&page);
    assert!(text.contains("The study is not complete: 5 trials are not run yet. These are the results so far."));
    assert!(text.contains("missing: 2 blocks not started"), "{text}");
}

#[test]
fn the_page_begins_with_the_answer_that_terminals_give() {
    let made = engines();
    let rules = DecisionRules::default();
    let answer = iolab_study::answer(&made.study, &made.design, &made.analysis(&rules), &rules);
    let (_, page) = shown(&made);
    let text = plain(&page);
    let place = text.find(&answer.sentence).expect("the sentence is on the page");
    assert!(
        place < text.find("Conclusions").expect("conclusions")
            && place < text.find("Percentile spectrum").expect("figures")
    );
    assert!(answer.sentence.starts_with("ioengine=libaio is best: "), "{}", answer.sentence);
}

#[test]
fn findings_stand_once_with_how_many_share_them() {
    let mut made = engines();
    for (number, digest) in made.digests.iter_mut().enumerate() {
        let finding = |rule: &str, severity: Severity| Finding {
            rule: rule.to_owned(),
            severity,
            evidence: format!("trial {number} read from memory"),
            consequence: format!("consequence of {rule}"),
            advice: "direct=1".to_owned(),
            jobs: vec!["j".to_owned()],
        };
        digest.findings = vec![finding("page-cache", Severity::Invalid)];
        if number == 3 {
            digest.findings.insert(0, finding("busy", Severity::Note));
        }
    }
    let (_, page) = shown(&made);
    let text = plain(&page);
    assert!(text.contains("Invalid: consequence of page-cache (page-cache, in 14 of 14 trials, job j)"), "{text}");
    assert!(text.contains("Note: consequence of busy (busy, in 1 of 14 trials, job j)"));
    assert!(text.contains("1 note"), "what is only to be noted is folded away");
    let line = "1 reason to doubt the figures, 1 note: consequence of page-cache (14 of 14 trials); consequence of busy (1 of 14 trials)";
    assert!(text.contains(line), "one line for all of them: {text}");
    assert_eq!(text.matches("consequence of page-cache").count(), 2, "in the line, and once in full");
    let [gravest, lightest] = ["Invalid:", "Note:"].map(|word| text.find(word).expect(word));
    assert!(gravest < lightest && lightest < text.find("Conclusions").expect("conclusions"));
}

#[test]
fn all_configurations_are_seen_at_once() {
    let axes =
        "[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"64k\"]\n[[axis]]\noption = \"iodepth\"\nvalues = [1, 8]\n";
    let text = format!("title = \"t\"\nquestion = \"\"\n{HEAD}{axes}").replace("\"iops\"", "\"bandwidth\"");
    let (html, page) = shown(&made(&text, |points| if points[1] == "8" { 9e6 } else { 1e6 }));
    let overview = &html[html.find("<table class=\"overview\"").expect("an overview")..];
    let overview = &overview[..overview.find("</table>").expect("its end")];
    assert_eq!(overview.matches("<td class=\"n").count(), 4, "{overview}");
    assert_eq!(overview.matches("class=\"n best\"").count(), 1);
    assert!(
        overview.contains("undecided against it") || overview.contains("equivalent to it"),
        "64k is as good: {overview}"
    );
    // Each conclusion links to its verdicts and to the matrix; the parser has checked that the
    // targets exist.
    for link in ["href=\"#figure-ratios-0-bandwidth\"", "href=\"#figure-bandwidth-matrix\""] {
        assert!(html.contains(link), "{link}");
    }
    assert!(page.headings.iter().any(|(_, text)| text == "Best configuration:"));
}

#[test]
fn hostile_names_stay_text() {
    let hostile = "<script>alert(1)</script>";
    let quote = "\\\"><img src=x onerror=alert(1)>'&amp;";
    let axes = format!(
        "[[axis]]\nname = \"{hostile}\"\n[[axis.point]]\nname = \"{hostile}\"\nset = {{ bs = \"4k\" }}\n\
         [[axis.point]]\nname = \"{quote}\"\nset = {{ bs = \"8k\" }}\n"
    );
    let mut made =
        made(&format!("title = \"{hostile}{quote}\"\nquestion = \"{quote}</style>\"\n{HEAD}{axes}"), |_| 1000.0);
    for digest in &mut made.digests {
        digest.host.hostname = hostile.to_owned();
        digest.host.command_line = vec!["</pre>".to_owned(), hostile.to_owned()];
        digest.warnings = vec![hostile.to_owned()];
        digest.findings = vec![Finding {
            rule: hostile.to_owned(),
            severity: Severity::Warning,
            evidence: hostile.to_owned(),
            consequence: quote.to_owned(),
            advice: hostile.to_owned(),
            jobs: vec![hostile.to_owned()],
        }];
    }
    made.trials[0].flaw = Some(hostile.to_owned());
    let (html, page) = shown(&made);
    assert_eq!(html.matches("<script").count(), 1, "the page's own");
    assert!(!html.contains("<script>alert") && !html.contains("<img"));
    assert!(page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn right_to_left_text_is_kept_apart_from_numbers() {
    let axes = "[[axis]]\nname = \"واسط\"\n[[axis.point]]\nname = \"خواندن همزمان\"\nset = { bs = \"4k\" }\n[[axis.point]]\nname = \"b\"\nset = { bs = \"8k\" }\n";
    let text = format!("title = \"مقایسهٔ واسط‌ها\"\nquestion = \"کدام سریع‌تر است؟\"\n{HEAD}{axes}");
    let (html, _) = shown(&made(&text, |points| if points[0] == "b" { 10_000.0 } else { 20_000.0 }));
    assert!(html.contains("<h1><bdi>مقایسهٔ واسط‌ها</bdi></h1>"));
    assert!(html.contains("<bdi>خواندن همزمان</bdi> with <bdi class=\"n\" dir=\"ltr\">15.3 k/s</bdi>"));
}

#[test]
fn a_verdict_says_on_which_axes_its_two_sides_differ() {
    let axes = "[[axis]]\noption = \"iodepth\"\nvalues = [1, 8]\n[[axis]]\noption = \"numjobs\"\nvalues = [2, 4]\n";
    let (html, _) = shown(&made(&format!("title = \"t\"\nquestion = \"\"\n{HEAD}{axes}"), |points| {
        if points[0] == "1" { 5_000.0 } else { 9_000.0 }
    }));
    let rows: Vec<&str> =
        html.split("<tr>").filter(|row| row.contains("iodepth=") || row.contains("numjobs=")).collect();
    let says = |configuration: &str, baseline: &str| {
        rows.iter().any(|row| row.contains(&format!("{configuration}<")) && row.contains(&format!(">{baseline}<")))
    };
    assert!(says("iodepth=8, numjobs=2", "iodepth=1") && says("iodepth=1, numjobs=4", "numjobs=2"), "{rows:#?}");
    assert!(says("iodepth=8, numjobs=4", "iodepth=1, numjobs=2"), "{rows:#?}");
}

#[test]
fn axes_decide_which_figures_there_are() {
    let check = |axes: &str, expected: &[&str]| {
        let made = made(&format!("title = \"t\"\nquestion = \"\"\n{HEAD}{axes}"), |points| {
            5_000.0 + 100.0 * points.iter().map(|point| point.len() as f64).sum::<f64>()
        });
        let (_, page) = shown(&made);
        let titles: Vec<&str> = page.headings.iter().map(|(_, title)| title.as_str()).collect();
        let start = titles.iter().position(|title| *title == "Figures").expect("figures");
        let end = titles.iter().position(|title| *title == "All results").expect("results");
        assert_eq!(&titles[start + 1..end], expected, "{axes}");
    };
    let axis = |option: &str, values: &str| format!("[[axis]]\noption = \"{option}\"\nvalues = {values}\n");
    check(&axis("bs", "\"4k..64k x2\""), &["Percentile spectrum", "Speed over block size", "Effect of each setting"]);
    check(&axis("iodepth", "[1, 8, 32]"), &["Latency against load", "Percentile spectrum", "Effect of each setting"]);
    check(&axis("rwmixwrite", "\"0..100 +25\""), &["Percentile spectrum", "Effect of each setting"]);
    check(
        &axis("bssplit", "[\"4k/50:8k/50\", \"64k/100\"]"),
        &["Percentile spectrum", "Latency by decile", "Side by side"],
    );
    check(
        &(axis("iodepth", "[1, 8]") + &axis("numjobs", "[1, 2]")),
        &["Latency against load", "Percentile spectrum", "Two axes crossed", "Effect of each setting"],
    );
}

#[test]
fn a_page_of_twenty_trials_is_small() {
    let axes =
        "[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"64k\"]\n[[axis]]\noption = \"iodepth\"\nvalues = [1, 8]\n";
    let text = format!("title = \"t\"\nquestion = \"\"\n{HEAD}{axes}").replace("blocks = 7", "blocks = 5");
    let made = made(&text, |points| 1000.0 * points[1].len() as f64);
    assert_eq!(made.trials.len(), 20);
    let (html, _) = shown(&made);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

#[test]
fn several_studies_share_a_page() {
    let (one, other) = (engines(), engines());
    let rules = DecisionRules::default();
    let analyses = [&one, &other].map(|made| made.analysis(&rules));
    let reports = [report(&one, &analyses[0], &rules), report(&other, &analyses[1], &rules)];
    let collection = Collection {
        title: "Both".to_owned(),
        question: "What of it?".to_owned(),
        studies: vec!["a.toml".to_owned(), "b.toml".to_owned()],
    };
    let page = collection_page(&collection, &reports);
    let read = read_html(&page.html);
    read.stands_alone();
    let parts: Vec<&str> = read.headings.iter().filter(|one| one.0 == 2).map(|one| one.1.as_str()).collect();
    assert_eq!((parts[0], parts[1]), ("Interfaces", "Interfaces: verdicts"));
    // The contents have a line for each study, with its sections.
    let [one, parts_of_one] = [
        "<li><a href=\"#s1-summary\"><bdi>Interfaces</bdi></a><ul>",
        "<li><a href=\"#s1-verdicts\"><bdi>Verdicts</bdi></a></li>",
    ];
    assert!(page.html.contains(&format!("{one}{parts_of_one}")), "{}", &page.html[..page.html.len().min(20_000)]);
    assert!(parts.contains(&"Interfaces (2)") && parts.contains(&"Interfaces (2): figures"), "{parts:?}");
    let mut ids: Vec<&str> = page.figures.iter().map(|figure| figure.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), count > 8), (count, true));
}

#[test]
fn the_steady_state_has_a_section_of_its_own() {
    let made = engines();
    let rules = DecisionRules::default();
    let mut analysis = made.analysis(&rules);
    let values: Vec<Option<f64>> = (0..25).map(|round| Some(1000.0 * 0.8_f64.powi(round))).collect();
    let snia = SniaRules::default();
    let flawed = Preconditioned {
        before: Before::default(),
        kind: PreconditionKind::Snia,
        purge: Some(Purge { done: Vec::new(), not_done: vec!["/dev/<b>: no trim".to_owned()] }),
        written_bytes: Some(2 << 30),
        figure: Figure::from_name("iops").expect("a figure"),
        verdict: Preconditioned::judge(PreconditionKind::Snia, &values, &snia),
        rounds: values,
        rules: snia,
    };
    analysis.preconditioned = vec![flawed];
    let warm_up = |block: u32, left_out_ns: u64| TrialWarmUp {
        trial: TrialId { block, configuration: 1, level: None },
        warm_up: WarmUp { method: WarmUpMethod::ChangePoints, left_out_ns, of_ns: 1_000_000_000 },
    };
    analysis.warm_ups = vec![warm_up(0, 100_000_000), warm_up(2, 300_000_000), warm_up(4, 250_000_000)];
    let page = study_page(&report(&made, &analysis, &rules));
    assert!(page.figures.iter().any(|figure| figure.id == "rounds"));
    let read = read_html(&page.html);
    read.stands_alone();
    let titles: Vec<&str> = read.headings.iter().map(|one| one.1.as_str()).collect();
    let place = |title: &str| titles.iter().position(|one| *one == title).expect("a heading");
    assert_eq!(titles[place("Steady state")..place("All results")], ["Steady state", "Preconditioning", "Warm-up"]);
    let text = plain(&read);
    for part in [
        "No steady state was reached before the trials: they measured storage that was still changing.",
        "The storage could not be purged: earlier writes may affect the results.",
        "Not purged:/dev/&lt;b&gt;: no trim",
        "the studyno2.00 GiB25▲ not steady, given uprounds 21 to 25",
        "libaio3250 ms300 ms30.0 %00",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}
