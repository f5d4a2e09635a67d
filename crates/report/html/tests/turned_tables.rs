//! The small table of a study with many choices has a row for each, so that nothing is scrolled.

use iolab_html::{StudyReport, study_page};
use iolab_statistics::DecisionRules;
use iolab_study::{Trial, TrialId, TrialResults, analyse, design, read};

/// The small table of a study of so many layers under two depths.
fn overview(layers: usize) -> String {
    let point = |layer: usize| format!("{{ name = \"layer{layer}\", set = {{ filename = \"f{layer}\" }} }}");
    let points: Vec<String> = (0..layers).map(point).collect();
    let text = format!(
        "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\"]\nblocks = 3\n[[axis]]\noption = \"iodepth\"\ngiven = true\n\
         values = [\"1\", \"32\"]\n[[axis]]\nname = \"layer\"\npoint = [{}]\n",
        points.join(", ")
    );
    let study = read(&text).expect("a study");
    let design = design(&study).expect("a design");
    let trial = |planned: &TrialId| Trial {
        block: planned.block,
        configuration: planned.configuration,
        values: vec![Some(1000.0 + 100.0 * planned.configuration as f64 + f64::from(planned.block))],
        ..Trial::default()
    };
    let results = TrialResults { trials: design.trials.iter().map(trial).collect(), ..TrialResults::default() };
    let rules = DecisionRules::default();
    let analysis = analyse(&study, &design, &results, &rules);
    let html = study_page(&StudyReport {
        study: &study,
        design: &design,
        analysis: &analysis,
        rules: &rules,
        job: "[j]",
        folder: "f",
        missing: 0,
        digests: &[],
        exemplars: &[],
        version: "1",
    })
    .html;
    let start = html.find("<table class=\"overview\"").expect("an overview");
    html[start..start + html[start..].find("</table>").expect("its end")].to_owned()
}

#[test]
fn many_choices_are_rows_and_few_are_columns() {
    let many = overview(20);
    assert_eq!(many.matches("<tr>").count(), 2 + 20, "{many}");
    assert_eq!(many.matches("<td class=\"n").count(), 40, "no configuration is left out: {many}");
    assert_eq!(many.matches("class=\"n best\"").count(), 2, "one for each condition: {many}");
    let few = overview(3);
    assert_eq!((few.matches("<tr>").count(), few.matches("<td class=\"n").count()), (2 + 2, 6), "{few}");
}
