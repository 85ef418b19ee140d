//! A Prometheus of the test's own. Needs Debian's `prometheus`, which `./test` fetches.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A Prometheus on loopback that takes remote writes, and ends with this value.
pub(crate) struct Prometheus {
    process: Child,
    port: u16,
}

impl Prometheus {
    /// Starts one; `None`, said on standard error, where there is none. Rules are those of `rules/` in the folder.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        let program = program();
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let config = folder.join("prometheus.yml");
        let text = "global:\n  scrape_interval: 15s\n  evaluation_interval: 5s\nrule_files: [rules/*.yml]\n";
        std::fs::write(&config, text).ok()?;
        let process = Command::new(&program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--web.enable-remote-write-receiver")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = process else {
            eprintln!("SKIPPED: `{program}` is not installed");
            return None;
        };
        let started = Self { process, port };
        // A busy machine takes its time, here and for answers.
        for _ in 0..1_200 {
            if started.get("/-/ready").is_some_and(|answer| answer.contains(" 200 ")) {
                return Some(started);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("Prometheus was not ready after a minute");
    }

    pub(crate) fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// What its API answers.
    pub(crate) fn api(&self, path: &str) -> serde_json::Value {
        let answer = self.get(path).expect("an answer");
        let body = answer.split_once("\r\n\r\n").expect("a body").1;
        let answer: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// The series of an expression as of now.
    pub(crate) fn now(&self, expression: &str) -> Vec<serde_json::Value> {
        let query: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let data = self.api(&format!("/api/v1/query?query={query}"));
        data["result"].as_array().expect("a vector").clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> String {
    std::env::var("XOFF_PROMETHEUS").unwrap_or_else(|_| "prometheus".into())
}

/// Runs promtool; `None`, said on standard error, where there is none.
pub(crate) fn promtool(arguments: &[&str], file: &Path) -> Option<Output> {
    let program = Path::new(&program()).with_file_name("promtool");
    run(&program, arguments, file)
}

/// Runs Alertmanager's amtool in the same way.
pub(crate) fn amtool(arguments: &[&str], file: &Path) -> Option<Output> {
    let program = std::env::var("XOFF_AMTOOL").unwrap_or_else(|_| "amtool".into());
    run(Path::new(&program), arguments, file)
}

fn run(program: &Path, arguments: &[&str], file: &Path) -> Option<Output> {
    let ran = Command::new(program).args(arguments).arg(file).output();
    if ran.is_err() {
        eprintln!("SKIPPED: `{}` is not installed", program.display());
    }
    ran.ok()
}
