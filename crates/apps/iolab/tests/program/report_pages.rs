//! `iolab report … -o report.html`: pages of real studies and recordings.

use crate::support::Lab;
use iolab_testkit::html::read_html;

/// A study of the null engine with reads and writes, three blocks of two configurations.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.file(
        "it.toml",
        "title = \"Nothing\"\nquestion = \"How fast is nothing?\"\nblocks = 3\nfigures = [\"iops\", \"p50\"]\n\
         job_text = \"[job]\\nioengine=null\\nsize=1g\\nrw=randrw\\ntime_based\\ninterval=10ms\\nruntime=60ms\\n\"\n\
         [[axis]]\noption = \"bs\"\nvalues = \"4k..8k x2\"\n",
    );
    lab
}

fn read(lab: &Lab, name: &str) -> String {
    std::fs::read_to_string(lab.path(name)).unwrap()
}

#[test]
fn a_study_becomes_a_page_with_figures_as_files() {
    let lab = lab();
    lab.run(["study", "run", "it.toml"]).ended(0, "iolab report it -o it.html");
    lab.run(["report", "it", "-o", "it.html", "--figures=figures"]).ended(0, "");
    let html = read(&lab, "it.html");
    let page = read_html(&html);
    page.stands_alone();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    for part in
        ["Nothing", "How fast is nothing?", "6 trials: 2 configurations in 3 blocks", "of writes over block size"]
    {
        assert!(page.text.contains(part), "no '{part}'");
    }
    let count = |ending: &str| {
        let files = std::fs::read_dir(lab.path("figures")).unwrap();
        files.filter(|file| file.as_ref().unwrap().file_name().to_str().unwrap().ends_with(ending)).count()
    };
    let figures = page.elements.iter().filter(|name| *name == "figure").count();
    assert!(figures > 6, "{figures}");
    assert_eq!((count(".svg"), count(".csv")), (figures, figures));
    assert!(read(&lab, "figures/block-sizes.svg").contains("<style>"));
    assert!(read(&lab, "figures/block-sizes.csv").lines().count() > 2);
    // As text, the folder gives the results of the study.
    let text = lab.run(["report", "it"]).ended(0, "").printed();
    assert_eq!(text, lab.run(["study", "show", "it"]).ended(0, "").printed());
    // The same for JSON; options that only apply to recordings are not silently ignored.
    let json = lab.run(["report", "it", "--output-format=json"]).ended(0, "").printed();
    assert_eq!(json, lab.run(["study", "show", "it", "--json"]).ended(0, "").printed());
    serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    lab.run(["report", "it", "--output-format=terse"]).ended(2, "this is a study: use normal, json or html");
    lab.run(["report", "it", "--output-format=json,normal"]).ended(2, "this is a study: use normal, json or html");
    lab.run(["report", "it", "--intervals"]).ended(2, "--intervals needs a recording, but this is a study");
}

#[test]
fn a_recording_becomes_a_page() {
    let lab = Lab::new();
    lab.file("x.fio", "[first <b>]\nioengine=null\nsize=1g\nrw=randread\ntime_based\nruntime=80ms\ninterval=10ms\n");
    lab.run(["run", "x.fio", "--record=x.iolab"]).ended(0, "");
    lab.run(["report", "x.iolab", "-o", "x.html"]).ended(0, "");
    let page = read_html(&read(&lab, "x.html"));
    page.stands_alone();
    let titles: Vec<&str> = page.headings.iter().map(|(_, title)| title.as_str()).collect();
    for title in ["Results", "Jobs", "Figures", "Percentile spectrum", "Over time", "Cost", "How to repeat it"] {
        assert!(titles.contains(&title), "no '{title}' in {titles:?}");
    }
    let printed = lab.run(["report", "x.iolab", "--output-format=html"]).ended(0, "").printed();
    assert_eq!(printed.trim_end(), read(&lab, "x.html").trim_end());
    lab.run(["report", "x.iolab", "--output-format=json,html"]).ended(2, "html cannot be combined with other formats");
}

#[test]
fn latencies_become_files_of_hdr_histogram_beside_those_of_a_user() {
    let lab = Lab::new();
    lab.job("[a/b]\nioengine=null\nsize=1m\nrw=read\n");
    std::fs::create_dir(lab.path("hdr")).unwrap();
    let mine = lab.file("hdr/a_b.0.read.clat.hgrm", "mine");
    let said = "a_b.0.read.clat.hgrm";
    lab.run(["report", "it.iolab", "--hdr=hdr"]).ended(3, said);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    lab.run(["report", "it.iolab", "--hdr=hdr", "--force"]).ended(0, "");
    assert!(read(&lab, "hdr/a_b.0.read.clat.hgrm").contains("1.000000000000"));
    lab.run(["report", "it.iolab", "--hdr=new"]).ended(0, "");
    assert!(lab.path("new").join(said).is_file());
    lab.run(["report", "it.iolab", "--hdr=new"]).ended(0, "");
}
