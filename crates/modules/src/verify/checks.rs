//! Checks of the stages of a run by other methods than those of the kernels.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::random::Stream;
use cuesta_runtime::parallel::{self, lock};

use super::{definitions as plain, tree};
use crate::kernel::adjacency::SoftNetwork;
use crate::kernel::expression::Expression;
use crate::kernel::linkage::Tree;
use crate::kernel::power::PowerRow;
use crate::params::{CutParams, Measure, ModulesParams};
use crate::reference;
use crate::run::Answer;
use crate::stages::{Observer, Outcome, Pairs};

/// Largest difference of two figures that are the same.
const TOLERANCE: f64 = 1e-9;

/// Genes up to which all pairs are checked, and all powers.
const ALL_PAIRS_GENES: usize = 400;
/// Genes up to which the cut is made again by its definition, which needs a square of distances.
const CUT_GENES: usize = 3_000;
/// Partners of each gene in checks of many genes.
const PARTNERS: usize = 2;

/// Checks of a run, and the first fault that they find.
pub struct Checks<'a> {
    request: &'a Request,
    params: &'a ModulesParams,
    /// First fault.
    pub fault: Option<String>,
}

impl<'a> Checks<'a> {
    /// Starts the checks of a request.
    pub fn new(request: &'a Request, params: &'a ModulesParams) -> Self {
        Self { request, params, fault: None }
    }

    fn require(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds && self.fault.is_none() {
            self.fault = Some(fault());
        }
    }

    /// Calls `is_right(i, partners)` for each gene `i` and genes to pair it with, on threads, and
    /// notes the fault of the first gene for which it does not hold.
    fn each_gene(
        &mut self,
        genes: usize,
        what: &str,
        is_right: impl Fn(usize, &[usize]) -> bool + Sync,
    ) -> Result<()> {
        let wrong = Mutex::new(None);
        let stream = Stream::new(self.request.seed, genes as u64);
        let is_sample = self.request.verify == VerificationLevel::Sample;
        let work = |partners: &mut Vec<usize>, gene: usize| {
            partners.clear();
            if genes <= ALL_PAIRS_GENES {
                partners.extend(gene + 1..genes);
            } else if !is_sample || stream.below(gene as u64, 16) == 0 {
                let draws = (gene * PARTNERS) as u64..((gene + 1) * PARTNERS) as u64;
                let draw = |draw| stream.below(draw, genes as u64) as usize;
                partners.extend(draws.map(draw).filter(|partner| *partner != gene));
            }
            if !partners.is_empty() && !is_right(gene, partners) {
                let mut wrong = lock(&wrong);
                *wrong = Some(wrong.map_or(gene, |before: usize| before.min(gene)));
            }
            Ok(())
        };
        parallel::run(self.request.threads, genes, Vec::new, work, |_| {})?;
        if let Some(gene) = *lock(&wrong) {
            self.require(false, || format!("{what} of gene {} is not right", gene + 1));
        }
        Ok(())
    }

    /// Checks modules, eigengenes, memberships and traits.
    ///
    /// # Errors
    /// `Input` for values that are too large.
    pub fn outcome(&mut self, answer: &Answer<'_>) -> Result<()> {
        let expression = answer.input.expression()?;
        let outcome = &answer.outcome;
        self.sizes(outcome, expression.genes());
        let measure = self.params.measure();
        for module in &outcome.modules.eigengenes {
            let genes = (0..expression.genes())
                .filter(|&gene| outcome.modules.labels[gene] == module.label);
            let rows: Vec<&[f64]> = genes.map(|gene| expression.row(gene)).collect();
            let is_right = plain::is_eigengene(&rows, &module.values);
            self.require(is_right, || format!("the eigengene of module {}", module.label));
        }
        for (place, first) in outcome.modules.eigengenes.iter().enumerate() {
            for second in &outcome.modules.eigengenes[place + 1..] {
                let r = reference::correlation(&first.values, &second.values, measure);
                let least = self.params.merge_cut_height - TOLERANCE;
                let names = (first.label, second.label);
                self.require(1.0 - r > least, || format!("modules {names:?} are not merged"));
            }
        }
        self.each_gene(expression.genes(), "the membership", |gene, _| {
            let label = outcome.modules.labels[gene];
            let Some(module) = outcome.modules.eigengenes.iter().find(|it| it.label == label)
            else {
                return label == 0 && outcome.membership[gene].is_nan();
            };
            let r = reference::correlation(expression.row(gene), &module.values, measure);
            is_near(r, outcome.membership[gene])
        })?;
        self.traits(answer);
        Ok(())
    }

    /// Checks that labels go by falling size, that modules have their size, and that each is a
    /// union of modules before merging.
    fn sizes(&mut self, outcome: &Outcome, genes: usize) {
        let modules = &outcome.modules;
        let mut sizes = vec![0; modules.eigengenes.len() + 1];
        let mut label_of = std::collections::HashMap::new();
        let mut is_union = true;
        for (&label, &before) in modules.labels.iter().zip(&modules.unmerged) {
            sizes[(label as usize).min(modules.eigengenes.len())] += 1;
            is_union &= *label_of.entry(before).or_insert(label) == label;
            is_union &= (before == 0) == (label == 0);
        }
        // A gene that takes the number of a column may revive a module that was dropped.
        let is_of_r = self.params.compatibility.is_of_r();
        let least = if is_of_r { 1 } else { self.params.module_size(genes) };
        let is_ordered = sizes[1..].is_sorted_by(|a, b| a >= b);
        let are_named = (1..).zip(&modules.eigengenes).all(|(label, it)| it.label == label);
        self.require(is_union, || "a module is no union of those before merging".to_owned());
        self.require(sizes[1..].iter().all(|size| *size >= least), || {
            format!("a module has fewer than {least} genes")
        });
        self.require(is_ordered && are_named, || "modules are not in order of size".to_owned());
    }

    fn traits(&mut self, answer: &Answer<'_>) {
        let Some(traits) = &answer.traits else { return };
        let eigengenes = &answer.outcome.modules.eigengenes;
        let p_values: Vec<f64> = answer.associations.iter().map(|row| row.p).collect();
        for row in &answer.associations {
            let values = &traits.values[row.trait_number];
            let module = &eigengenes[row.module as usize - 1].values;
            let n = values.iter().filter(|value| !value.is_nan()).count();
            let r = match n {
                0..4 => f64::NAN,
                _ => reference::correlation(values, module, Measure::Pearson),
            };
            let is_right = is_near(r, row.r)
                && is_near(plain::p_value(r, n), row.p)
                && is_near(plain::q_value(row.p, &p_values), row.q)
                && n == row.n;
            let name = &traits.names[row.trait_number];
            self.require(is_right, || format!("trait {name} of module {}", row.module));
        }
        let count = eigengenes.len() * traits.names.len();
        self.require(answer.associations.len() == count, || "a trait is missing".to_owned());
    }
}

/// Whether two figures are the same, or both missing.
fn is_near(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * (1.0 + a.abs())
}

impl Observer for Checks<'_> {
    fn powers(&mut self, correlations: &Pairs<'_>, rows: &[PowerRow]) -> Result<()> {
        let genes = correlations.count();
        for row in rows {
            let is_checked = genes <= ALL_PAIRS_GENES || row.power == rows[0].power;
            let is_right = !is_checked || {
                let k = plain::connectivity(correlations, self.params.network, row.power);
                let (r_squared, slope) = plain::fit(&k);
                is_near(plain::mean(&k), row.mean)
                    && is_near(k.iter().copied().fold(0.0, f64::max), row.largest)
                    && (is_near(r_squared, row.fit.r_squared) || r_squared.is_nan())
                    && (is_near(slope, row.fit.slope) || slope.is_nan())
            };
            self.require(is_right, || format!("the fit of power {}", row.power));
        }
        Ok(())
    }

    fn adjacencies(
        &mut self,
        expression: &Expression,
        adjacencies: &Pairs<'_>,
        network: SoftNetwork,
    ) -> Result<()> {
        let measure = self.params.measure();
        self.each_gene(expression.genes(), "an adjacency", |gene, partners| {
            partners.iter().all(|&partner| {
                let (x, y) = (expression.row(gene), expression.row(partner));
                let r = reference::correlation(x, y, measure);
                let size = reference::adjacency(network.network, network.power, r);
                let is_negative = network.keeps_sign && r < 0.0 && network.adjacency(-1.0) < 0.0;
                let expected = if is_negative { -size } else { size };
                (adjacencies.get(gene, partner) - expected).abs() <= TOLERANCE
            })
        })
    }

    fn distances(&mut self, distances: &Pairs<'_>, adjacencies: &Pairs<'_>) -> Result<()> {
        let kind = self.params.tom;
        self.each_gene(distances.count(), "an overlap", |gene, partners| {
            let row = plain::gathered(adjacencies, gene);
            partners.iter().all(|&partner| {
                let other = plain::gathered(adjacencies, partner);
                let overlap = plain::overlap(kind, (&row, gene), (&other, partner));
                (distances.get(gene, partner) - (1.0 - overlap)).abs() <= TOLERANCE
            })
        })
    }

    fn cut(&mut self, tree: &Tree, labels: &[u32], distances: &Pairs<'_>) -> Result<()> {
        let genes = distances.count();
        let budget = &self.request.budget;
        if let Some(fault) = tree::fault(tree, distances, budget)? {
            self.require(false, || fault);
        }
        if !(2..=CUT_GENES).contains(&genes) {
            return Ok(());
        }
        let Some(_lease) = budget.try_take((8 * genes * genes) as u64) else { return Ok(()) };
        let entry = |i: usize, j: usize| if i == j { 0.0 } else { distances.get(i, j) };
        let square: reference::Square =
            (0..genes).map(|i| (0..genes).map(|j| entry(i, j)).collect()).collect();
        let (scatter, gap) = plain::scatter_and_gap(self.params.deep_split);
        let params = CutParams {
            max_core_scatter: Some(scatter),
            min_gap: Some(gap),
            ..self.params.cut(genes)
        };
        let expected = reference::cut_tree(tree, &square, &params);
        self.require(expected == labels, || "the cut of the tree is not right".to_owned());
        Ok(())
    }
}
