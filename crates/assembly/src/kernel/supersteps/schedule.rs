//! Order of the supersteps of PGA: chains in rounds of two, tips in two, bubbles in two, job after
//! job.

use super::control::{Aggregates, Control, Paper, Program, Step};

impl Control {
    /// Returns the superstep that follows one of the paper's program; `None` at its end.
    pub(super) fn after_of_paper(
        &mut self,
        step: Step,
        aggregates: &Aggregates,
        paper: &Paper,
    ) -> Option<Step> {
        match step {
            Step::MeetAgain => Some(Step::Link),
            Step::Link if matches!(self.program, Program::Compress(_)) => Some(Step::Toss),
            Step::Link => Some(Step::FindTips),
            Step::Toss => Some(Step::Merge),
            Step::Merge => {
                self.round += 1;
                self.rounds_of_job += 1;
                let is_complete = aggregates.changed == 0;
                let is_cut = paper.rounds_max.is_some_and(|most| self.rounds_of_job >= most);
                if !is_complete && !is_cut {
                    return Some(Step::Toss);
                }
                (self.rounds_of_job, self.is_cut) = (0, !is_complete);
                match self.program {
                    Program::Compress(_) if is_complete => None,
                    Program::Compress(_) => {
                        self.is_ending = true;
                        Some(Step::Receive)
                    }
                    _ => Some(Step::FindTips),
                }
            }
            Step::FindTips => {
                self.now.tips = aggregates.changed;
                Some(Step::Receive)
            }
            Step::Receive if self.is_ending => None,
            Step::Receive => Some(Step::FindBubbles),
            Step::FindBubbles => Some(Step::PopBubbles),
            Step::PopBubbles => {
                self.now.bubbles = aggregates.changed;
                self.after_job(paper)
            }
            _ => None,
        }
    }

    /// Returns the first superstep of the next job; ends the program where nothing has changed.
    fn after_job(&mut self, paper: &Paper) -> Option<Step> {
        let removed = std::mem::take(&mut self.now);
        self.rounds.push(removed);
        let is_last = self.rounds.len() as u64 >= paper.jobs_max;
        if removed.tips + removed.bubbles == 0 && !self.is_cut {
            return None;
        }
        if !is_last {
            return Some(Step::Toss);
        }
        self.is_ending = true;
        Some(Step::Receive)
    }

    /// Returns the phase to which the traffic of a superstep of the paper's program counts.
    pub(super) fn work_of_paper(&self, step: Step) -> &'static str {
        match step {
            Step::MeetAgain | Step::Link => "edges",
            Step::FindTips => "tips",
            Step::Receive if matches!(self.program, Program::Compress(_)) => "chains",
            Step::Receive if self.is_ending => "bubbles",
            Step::Receive => "tips",
            Step::FindBubbles | Step::PopBubbles => "bubbles",
            _ => "chains",
        }
    }
}
