//! A form of job options, made from the table of options; and the plan that came of it.

use maud::{Markup, html};

use super::page::Site;
use crate::environment;
use crate::frame::name;

/// One word that an option accepts.
#[derive(Debug, Clone)]
pub struct FormChoice {
    /// The word.
    pub word: String,
    /// What it means; may be empty.
    pub meaning: String,
}

/// One option.
#[derive(Debug, Clone)]
pub struct FormField {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its default, in words; may be empty.
    pub default: String,
    /// All that it accepts, if these are words; otherwise it takes a text.
    pub choices: Vec<FormChoice>,
    /// What the form has at first.
    pub value: String,
}

/// Options that belong together.
#[derive(Debug, Clone)]
pub struct FormGroup {
    /// What they are about.
    pub title: String,
    /// Whether they are shown at once, and not behind the title.
    pub is_open: bool,
    /// The options.
    pub fields: Vec<FormField>,
}

/// The page.
#[derive(Debug)]
pub struct JobForm<'a> {
    /// What all pages share.
    pub site: Site<'a>,
    /// All options.
    pub groups: &'a [FormGroup],
    /// Why the last words made no plan.
    pub trouble: Option<&'a str>,
}

impl JobForm<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let body = html! {
            @if let Some(trouble) = self.trouble {
                section aria-labelledby="trouble" { h2 #trouble { "This makes no job" } pre { (trouble) } }
            }
            form method="post" action="/new/plan" {
                (self.site.token_field())
                @for group in self.groups {
                    @if group.is_open { fieldset { legend { (group.title) } (fields(group)) } }
                    @else { details { summary { (group.title) } (fields(group)) } }
                }
                p.line { button type="submit" { "Show the plan" } span.weak { "Nothing runs before you have seen it." } }
            }
        };
        let facts = html! { p { "What you leave empty keeps its default. A job writes only where no data is that it did not make itself." } };
        self.site.document("New job", &facts, &body, false)
    }
}

fn fields(group: &FormGroup) -> Markup {
    html! {
        div.fields {
            @for field in &group.fields {
                div.field {
                    label for={ "o-" (field.name) } { (field.name) }
                    @if field.choices.is_empty() {
                        input id={ "o-" (field.name) } name={ "o." (field.name) } value=(field.value) placeholder=(field.default)
                            aria-describedby={ "s-" (field.name) } autocomplete="off" spellcheck="false";
                    } @else {
                        select id={ "o-" (field.name) } name={ "o." (field.name) } aria-describedby={ "s-" (field.name) } {
                            option value="" { "default" @if !field.default.is_empty() { ": " (field.default) } }
                            @for choice in &field.choices {
                                option value=(choice.word) selected[choice.word == field.value] {
                                    (choice.word) @if !choice.meaning.is_empty() { " \u{2013} " (choice.meaning) }
                                }
                            }
                        }
                    }
                    p.weak id={ "s-" (field.name) } { (field.summary) }
                }
            }
        }
    }
}

/// A job that was planned, and can be started.
#[derive(Debug)]
pub struct PlannedJob<'a> {
    /// What all pages share.
    pub site: Site<'a>,
    /// The options of the form, in order.
    pub words: &'a [(String, String)],
    /// What the job would do.
    pub plan: &'a str,
    /// What the program warned of; may be empty.
    pub warnings: &'a str,
    /// The command that does the same.
    pub command: &'a str,
    /// How many runs go on now: they would disturb each other.
    pub running: usize,
}

impl PlannedJob<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let body = html! {
            @if !self.warnings.is_empty() { section aria-labelledby="warnings" { h2 #warnings { "Warnings" } pre { (self.warnings) } } }
            @if self.running > 0 {
                p { strong.severity { "A run is going on: two at once disturb each other." } }
            }
            form.line method="post" action="/new/start" {
                (self.site.token_field())
                @for (option, value) in self.words { input type="hidden" name={ "o." (option) } value=(value); }
                button type="submit" { "Start this job" }
                a href="/new" { "Begin again" }
            }
            section aria-labelledby="plan" { h2 #plan { "Plan" } (environment::code(self.plan)) }
            section aria-labelledby="command" { h2 #command { "The same in a shell" } (environment::code(self.command)) }
        };
        let facts = html! { p { "Options: " @for (place, (option, value)) in self.words.iter().enumerate() {
        @if place > 0 { ", " } (name(&format!("{option}={value}"))) } "." } };
        self.site.document("The plan of the job", &facts, &body, false)
    }
}
