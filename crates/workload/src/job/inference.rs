//! From the `inference` of a scenario to a program that serves its requests.

use super::service::{LARGEST_CACHE, MOST_REQUESTS, Maker};
use super::training::unknown;
use super::{Job, ServiceRun, TokenObjective};
use crate::layout::{self, Layout};
use crate::logarithm::{self, exponential};
use crate::program::Program;
use crate::service::{Instance, Prompt, Serving, ServingSettings, log};
use crate::stream::Stream;
use crate::training::{FlopRate, GPUS, Gpu, MEMORY_EFFICIENCY, MODELS, Model, Pace};
use std::fs::File;
use std::io::BufReader;
use xoff_fabric::model::ServerId;
use xoff_fabric::names::Role;
use xoff_fabric::scenario::{Inference, TokenSetting, TransferSetting};
use xoff_units::{Ratio, Span};

/// Requests that a server answers at once, without another number: the long-standing default of vLLM.
const MOST_AT_ONCE: u32 = 256;
/// The share of requests that must keep to an objective: MLPerf judges the 99th percentile.
const SHARE: Ratio = Ratio::new(99, 100);
/// Most tokens that are computed in all: each is an event for its whole server.
const MOST_TOKENS: u64 = 1 << 32;

impl Maker<'_> {
    pub(super) fn inference(&self, entry: &Inference) -> Result<Job, String> {
        let front = Role { key: "prefill", set: Some(&entry.prefill) };
        let back = Role { key: "decode", set: Some(&entry.decode) };
        let (front, back) = self.names.roles(front, back)?;
        let pace = pace(entry)?;
        let prompts = self.prompts(entry)?;
        let longest = prompts.iter().map(|prompt| prompt.input).max().unwrap_or(0);
        if pace.cache(longest).get() > LARGEST_CACHE {
            return Err(format!("{longest} tokens are no prompt whose cache can be sent"));
        }
        let tokens: u64 = prompts.iter().map(|prompt| u64::from(prompt.output)).sum();
        if tokens > MOST_TOKENS {
            return Err(format!("{tokens} tokens of answers; at most {MOST_TOKENS} can be made"));
        }
        let settings = ServingSettings {
            prompts,
            prefill: self.instances(&front)?,
            decode: self.instances(&back)?,
            pace,
            by_layer: entry.transfer == TransferSetting::Layer,
            most: entry.max_batch.unwrap_or(MOST_AT_ONCE),
            queues: entry.qps.unwrap_or(self.fabric.queue_pairs),
        };
        let serving = Serving::new(settings);
        let sizes = serving.sizes().collect();
        let mut service = ServiceRun::new(Program::Serving(Box::new(serving)), sizes);
        service.tokens = entry.objective.map(|objective| TokenObjective {
            first: objective.ttft,
            each: objective.tpot,
            share: objective.share.unwrap_or(SHARE),
        });
        self.made(&entry.common, Layout::of_nobody(), service)
    }

    fn instances(&self, servers: &[ServerId]) -> Result<Vec<Instance>, String> {
        let instance = |&server: &ServerId| {
            let gpus = layout::servers_gpus(self.fabric, &[server]);
            let nics: Vec<_> = self.names.server_nics(server).collect();
            match (gpus.first(), nics.is_empty()) {
                (Some(&(gpu, _)), false) => Ok(Instance { nics, gpu, gpus: gpus.len() as u32 }),
                _ => Err(format!("server {} has no GPU or no NIC", server.index())),
            }
        };
        servers.iter().map(instance).collect()
    }

    /// The requests: of a log, or drawn.
    fn prompts(&self, entry: &Inference) -> Result<Vec<Prompt>, String> {
        let most = entry.requests.unwrap_or(MOST_REQUESTS);
        if most == 0 || most > MOST_REQUESTS {
            return Err(format!("`requests` is {most}; 1 to {MOST_REQUESTS} can be made"));
        }
        if let Some(name) = &entry.trace {
            let base = self.base.ok_or("requests are read from a file, and none can be here")?;
            let file = File::open(base.join(name)).map_err(|error| format!("{name}: {error}"))?;
            return log::read(BufReader::new(file), most).map_err(|text| format!("{name}: {text}"));
        }
        let (Some(rate), Some(count), Some(input), Some(output)) =
            (entry.requests_per_second, entry.requests, entry.input, entry.output)
        else {
            let all = "`requests-per-second`, `requests`, `input` and `output`";
            return Err(format!("give `trace`, or {all}"));
        };
        let Some(gap) = 1_000_000_000_000u64.checked_div(rate.into()) else {
            return Err("`requests-per-second` is 0; give 1 or more".into());
        };
        let bounds = |name: &str, tokens: TokenSetting| match tokens.bounds() {
            (least, most) if least == 0 || most < least => {
                Err(format!("`{name}` is {least} to {most}; give one token or more"))
            }
            bounds => Ok(bounds),
        };
        let (input, output) = (bounds("input", input)?, bounds("output", output)?);
        let stream = |purpose| Stream::new(self.seed, self.workload.into(), purpose);
        let (mut gaps, mut inputs) = (stream("request-gap"), stream("request-input"));
        let mut outputs = stream("request-output");
        let draw = |from: &mut Stream, (least, most): (u32, u32)| {
            least + from.below(u64::from(most - least) + 1) as u32
        };
        let prompt = |_| {
            let after = u128::from(gap) * u128::from(exponential(gaps.next_u64()));
            Prompt {
                after: Span::from_ps((after >> logarithm::FRACTION_BITS) as u64),
                input: draw(&mut inputs, input),
                output: draw(&mut outputs, output),
            }
        };
        Ok((0..count).map(prompt).collect())
    }
}

fn pace(entry: &Inference) -> Result<Pace, String> {
    let names = MODELS.map(|preset| preset.name);
    let model = Model::named(&entry.model);
    let model = model.ok_or_else(|| unknown("model", &entry.model, &names))?.model;
    let name = entry.gpu.as_deref().unwrap_or("h100");
    let names = GPUS.map(|preset| preset.name);
    let known = Gpu::named(name).ok_or_else(|| unknown("GPU", name, &names))?.gpu;
    let gpu = Gpu {
        peak: entry.peak_tflops.map_or(known.peak, FlopRate::from_teraflops),
        efficiency: entry.efficiency.unwrap_or(known.efficiency),
        ..known
    };
    let memory = entry.memory_efficiency.unwrap_or(MEMORY_EFFICIENCY);
    let nothing = gpu.peak.per_second() == 0 || gpu.efficiency.is_zero() || memory.is_zero();
    if nothing {
        return Err("a GPU that computes or reads nothing answers nothing".into());
    }
    let (cache_element, weight_element) =
        (entry.element_bytes.unwrap_or(2), entry.weight_bytes.unwrap_or(2));
    if cache_element == 0 || weight_element == 0 {
        return Err("`element-bytes` and `weight-bytes` are 1 or more".into());
    }
    Ok(Pace { model, gpu, memory, cache_element, weight_element })
}

#[cfg(test)]
mod tests {
    use crate::collective::Network;
    use crate::testing::workloads;
    use crate::{Job, ideal, programs, programs_in};
    use xoff_fabric::model::Fabric;

    fn pod() -> Fabric {
        Fabric::from_toml("[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n").unwrap()
    }

    const START: &str = "kind='inference'\nmodel='llama-3-8b'\nprefill=1\ndecode=2\n";
    const DRAWN: &str = "requests-per-second=100\nrequests=20\ninput=[100, 900]\noutput=[1, 30]\n";

    fn job(text: &str) -> Job {
        programs(&workloads(text), &pod(), 1).unwrap().remove(0)
    }

    #[test]
    fn requests_are_served_to_their_last_token() {
        for rest in
            ["", "transfer='whole'\n", "qps=4\nmax-batch=2\n", "element-bytes=1\ngpu='b200'\n"]
        {
            let job = job(&format!("{START}{DRAWN}{rest}"));
            let mut program = job.programs().unwrap().remove(0).program;
            let outcome = ideal::run(&mut program, &pod(), &Network::default()).unwrap();
            let served = program.served();
            assert_eq!(served.len(), 20, "{rest}");
            assert!(served.iter().all(|one| one.done && one.first.is_some()), "{rest}");
            let service = job.service.unwrap();
            let sizes = (0..20).map(|number| service.size(crate::program::RequestId(number)));
            let sent: u64 = outcome.nics.iter().map(|nic| nic.sent.get()).sum();
            assert_eq!(sent, sizes.map(|size| size.get()).sum::<u64>(), "{rest}");
        }
    }

    #[test]
    fn a_log_is_read_beside_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 3}\n\
                     {\"timestamp\": 40, \"input_length\": 700, \"output_length\": 1}\n";
        std::fs::write(folder.path().join("r.jsonl"), lines).unwrap();
        let text = format!("{START}trace='r.jsonl'\nobjective={{ ttft='1s' }}");
        let jobs = programs_in(&workloads(&text), &pod(), 1, Some(folder.path())).unwrap();
        let service = jobs[0].service.as_ref().unwrap();
        // 2 x 32 layers x 8 heads x 128 x 2 bytes are 128 KiB a token.
        assert_eq!(service.size(crate::program::RequestId(1)).get(), 700 * 128 * 1024);
        assert_eq!(service.tokens.unwrap().share, xoff_units::Ratio::new(99, 100));
        let none = programs(&workloads(&text), &pod(), 1).unwrap_err();
        assert!(none[0].to_string().contains("read from a file"), "{}", none[0]);
    }

    #[test]
    fn mistakes_are_said() {
        for (rest, said) in [
            ("", "give `trace`, or"),
            ("requests-per-second=1\nrequests=0\ninput=1\noutput=1", "`requests` is 0"),
            ("requests-per-second=0\nrequests=1\ninput=1\noutput=1", "`requests-per-second` is 0"),
            ("requests-per-second=1\nrequests=1\ninput=0\noutput=1", "`input` is 0 to 0"),
            ("requests-per-second=1\nrequests=1\ninput=1\noutput=[2, 1]", "`output` is 2 to 1"),
            ("requests-per-second=1\nrequests=1\ninput=4294967295\noutput=1", "no prompt whose"),
            ("requests-per-second=1\nrequests=9\ninput=1\noutput=4294967295", "tokens of answers"),
            ("requests-per-second=1\nrequests=1\ninput=1\noutput=1\ngpu='tpu'", "there is no GPU"),
            ("requests-per-second=1\nrequests=1\ninput=1\noutput=1\nefficiency=0", "computes or"),
        ] {
            let wrong = programs(&workloads(&format!("{START}{rest}")), &pod(), 1).unwrap_err();
            assert!(wrong[0].to_string().contains(said), "{said}: {}", wrong[0]);
        }
        let text = START.replace("llama-3-8b", "resnet-50");
        let wrong = programs(&workloads(&format!("{text}{DRAWN}")), &pod(), 1).unwrap_err();
        assert!(wrong[0].to_string().contains("there is no model `resnet-50`"), "{}", wrong[0]);
    }
}
