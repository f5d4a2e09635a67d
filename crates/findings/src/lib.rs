//! What the figures of a recording are worth: rules, evidence, consequence, advice.
