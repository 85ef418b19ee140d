//! `xoff watch`: printed once, in a real terminal, and over a store that goes away.

use super::{
    code, example, json, output, program, repository, run_with_counters, stderr, stdout, xoff,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

#[test]
fn once_says_what_is_wrong_and_its_exit_code_that_something_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period, expected) in [
        ("storm.toml", "20us", "b0: a pause storm from this NIC, since 100 us"),
        // It dies at 200 us, with which a step ends.
        ("dead-spine.toml", "50us", "spine0: the switch is down, since 150 us"),
    ] {
        run_with_counters(folder.path(), name, period);
        // Standard output is a pipe here, which is as good as --once.
        for arguments in [&["watch", name, "--once"][..], &["watch", name]] {
            let out = output(folder.path(), arguments);
            assert_eq!(code(&out), Some(1), "{name}: {}", stderr(&out));
            assert!(stdout(&out).contains(expected), "{}", stdout(&out));
            assert!(!stdout(&out).contains('\u{1b}'), "escape codes in a pipe");
            assert!(stdout(&out).contains("at its end"), "{}", stdout(&out));
        }
        let all = ["diagnose", name, "--json"];
        let (watched, diagnosed) = (
            json(&output(folder.path(), &["watch", name, "--json"])),
            json(&output(folder.path(), &all)),
        );
        let causes = |answer: &serde_json::Value| {
            let list = answer["findings"].as_array().unwrap().iter();
            list.map(|finding| (finding["cause"].clone(), finding["place"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(causes(&watched), causes(&diagnosed), "the same rules");
        assert_eq!(watched["state"], "recorded");
    }
    // Before the storm nothing is wrong.
    let before = output(folder.path(), &["watch", "storm.toml", "--once", "--at", "80us"]);
    assert_eq!(code(&before), Some(0), "{}", stdout(&before));
    assert!(stdout(&before).contains("nothing wrong is to be seen"), "{}", stdout(&before));
    // The same twice, to the byte.
    let twice = [(); 2].map(|()| output(folder.path(), &["watch", "storm.toml", "--json"]).stdout);
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn a_sound_run_has_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    run_with_counters(folder.path(), "all-reduce.toml", "50us");
    let out = output(folder.path(), &["watch", "all-reduce.toml", "--once"]);
    assert_eq!(code(&out), Some(0), "{}", stdout(&out));
    assert!(stdout(&out).contains("Findings (0)"), "{}", stdout(&out));
}

#[test]
fn mistakes_say_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    run_with_counters(folder.path(), "storm.toml", "100us");
    let plan = example("three-leaves-100g.toml");
    for (arguments, message) in [
        (vec!["watch", "nowhere"], "has no counters; make the run with"),
        (vec!["watch", "storm.toml", "--last", "soon"], "--last"),
        (vec!["watch", "storm.toml", "--speed", "0"], "--speed must be more than 0"),
        (vec!["watch", "storm.toml", "--play", "--at", "1ms"], "cannot be used with"),
        (vec!["watch", "http://127.0.0.1:1"], "name its file with --fabric"),
        (vec!["watch", "http://127.0.0.1:1", "--fabric", &plan, "--play"], "are for recordings"),
        (vec!["watch", "http://127.0.0.1:1", "--fabric", &plan, "--last", "10s"], "shorter than"),
        (vec!["watch", "http://127.0.0.1:1", "--fabric", &plan, "--once"], "cannot reach"),
        (vec!["watch", "http://127.0.0.1:1", "--fabric", &plan, "--interval", "0s"], "--interval"),
    ] {
        let out = output(folder.path(), &arguments);
        assert_eq!(code(&out), Some(2), "{arguments:?}: {}", stdout(&out));
        assert!(stderr(&out).contains(message), "{arguments:?}: {}", stderr(&out));
    }
}

/// A tmux server of its own, with one window in which a command runs.
struct Tmux(String);

impl Tmux {
    /// Starts a command on a screen of this size; nothing if tmux is not installed.
    fn start(size: (u16, u16), folder: &Path, arguments: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tmux = Self(format!("xoff-test-{}-{number}", std::process::id()));
        // What it prints after its end shows that the terminal is as it was.
        let command = format!(
            "'{}' {arguments}; echo ENDED $?; stty -a; exec sleep 600",
            program().display()
        );
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let started = Command::new("tmux")
            .args(["-L", &tmux.0, "-f", "/dev/null", "new-session", "-d"])
            .args(["-x", &width, "-y", &height, "sh", "-c", &command])
            .current_dir(folder)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output();
        match started {
            Ok(out) => assert!(out.status.success(), "{}", stderr(&out)),
            Err(_) => {
                eprintln!("SKIPPED: `tmux` is not installed");
                std::mem::forget(tmux);
                return None;
            }
        }
        Some(tmux)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let out = Command::new("tmux").args(["-L", &self.0]).args(arguments).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", stderr(&out));
        stdout(&out).to_owned()
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn resize(&self, size: (u16, u16)) {
        let (width, height) = (size.0.to_string(), size.1.to_string());
        self.tmux(&["resize-window", "-x", &width, "-y", &height]);
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows something, but not for ever.
    fn wait_for(&self, what: &str) -> String {
        for _ in 0..600 {
            let text = self.shown();
            if text.contains(what) {
                return text;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("waited in vain for `{what}` in\n{}", self.shown());
    }

    /// Waits until it has ended, and looks at what it left behind.
    fn ended(&self, code: i32) {
        let text = self.wait_for(&format!("ENDED {code}"));
        let text = if text.contains("icanon") { text } else { self.wait_for("icanon") };
        assert!(!text.contains("-icanon") && !text.contains("-echo "), "{text}");
        assert_eq!(self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim(), "0");
        assert_eq!(self.tmux(&["display-message", "-p", "#{cursor_flag}"]).trim(), "1");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.0, "kill-server"]).output();
    }
}

/// Processes that were started with this argument.
fn processes_with(argument: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let own = |line: &Vec<u8>| {
        let mut arguments = line.split(|byte| *byte == 0);
        arguments.next().is_some_and(|program| program.ends_with(b"xoff"))
            && arguments.any(|one| one == argument.as_bytes())
    };
    lines.filter(own).count()
}

/// A window that is closed leaves no process behind that waits for keys for ever.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    run_with_counters(folder.path(), "storm.toml", "100us");
    let name = format!("gone-{}", std::process::id());
    std::fs::rename(folder.path().join("storm.toml"), folder.path().join(&name)).unwrap();
    let arguments = format!("watch {name}");
    let Some(tmux) = Tmux::start((80, 24), folder.path(), &arguments) else { return };
    tmux.wait_for("b0: a pause storm from this NIC");
    assert_eq!(processes_with(&name), 1);
    drop(tmux);
    for _ in 0..100 {
        if processes_with(&name) == 0 {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("it still runs, ten seconds after its terminal went away");
}

#[test]
fn a_storm_is_followed_in_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    run_with_counters(folder.path(), "storm.toml", "20us");
    let Some(tmux) = Tmux::start((80, 24), folder.path(), "watch storm.toml") else { return };
    tmux.wait_for("b0: a pause storm from this NIC, since 100 us");
    // The last that is drawn: a terminal may be looked at while it is written to.
    let end = tmux.wait_for("» Links by heat");
    for part in ["xoff watch  three-leaves-100g", "at its end", "Fabric", "» Links by heat"] {
        assert!(end.contains(part), "no {part} in\n{end}");
    }
    assert!(end.lines().all(|line| line.chars().count() <= 80), "{end}");
    // From its beginning, where all is well, step by step and then playing into the storm.
    tmux.press("g");
    tmux.wait_for("step 1 of 500");
    tmux.wait_for("nothing wrong is to be seen");
    tmux.press("Right");
    tmux.wait_for("step 2 of 500");
    tmux.press("Space");
    tmux.wait_for("playing, 5 steps/s");
    tmux.wait_for("b0: ");
    tmux.press("Space");
    tmux.wait_for("paused");
    // A larger screen shows all at once.
    tmux.resize((200, 60));
    tmux.wait_for("Pauses (");
    let large = tmux.wait_for("└ leaf-b→b0");
    for part in ["Findings (", "Fabric", "Links by heat", "NICs in trouble", "└ leaf-b→b0"] {
        assert!(large.contains(part), "no {part} in\n{large}");
    }
    tmux.resize((30, 8));
    tmux.wait_for("too small: 30x8");
    tmux.resize((80, 24));
    tmux.press("d");
    tmux.wait_for("1. b0: ");
    tmux.press("Escape");
    tmux.wait_for("Links by heat");
    tmux.press("q");
    tmux.ended(0);
}

#[test]
fn interrupts_leave_the_terminal_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    run_with_counters(folder.path(), "storm.toml", "100us");
    let Some(tmux) = Tmux::start((80, 24), folder.path(), "watch storm.toml --play") else {
        return;
    };
    tmux.wait_for("playing");
    tmux.press("C-c");
    tmux.ended(0);
    let command = "watch storm.toml & wait $!";
    drop(tmux);
    // In the background of the shell it still has the terminal; a signal ends it in good order.
    let Some(tmux) = Tmux::start((80, 24), folder.path(), command) else { return };
    tmux.wait_for("at its end");
    let pane = tmux.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let children = Command::new("pgrep").args(["-P", pane.trim(), "-x", "xoff"]).output();
    let Ok(children) = children else {
        eprintln!("SKIPPED: `pgrep` is not installed");
        return;
    };
    let sent = Command::new("kill").args(["-TERM", stdout(&children).trim()]).status().unwrap();
    assert!(sent.success());
    tmux.ended(130);
}

/// What answers as a Prometheus with three leaves in a storm does, and can be switched off.
struct Fake {
    address: SocketAddr,
    up: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Fake {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (up, stop) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let flags = (up.clone(), stop.clone());
        let thread = thread::spawn(move || serve(listener, address, &flags.0, &flags.1));
        Self { address, up, stop, thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn switch(&self, on: bool) {
        self.up.store(on, Ordering::Relaxed);
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Listens while it is up; connections are refused while it is not.
fn serve(first: TcpListener, address: SocketAddr, up: &AtomicBool, stop: &AtomicBool) {
    let mut listener = Some(first);
    while !stop.load(Ordering::Relaxed) {
        match (up.load(Ordering::Relaxed), &listener) {
            (false, _) => listener = None,
            (true, None) => listener = TcpListener::bind(address).ok(),
            (true, Some(listening)) => {
                listening.set_nonblocking(true).unwrap();
                if let Ok((stream, _)) = listening.accept() {
                    answer(stream);
                    continue;
                }
            }
        }
        sleep(Duration::from_millis(5));
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut request = [0; 4096];
    let length = stream.read(&mut request).unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let line = request.lines().next().unwrap_or_default().to_owned();
    let field = |name: &str| {
        let after = line.split_once(&format!("{name}="))?.1;
        after.split(['&', ' ']).next().map(str::to_owned)
    };
    let number = |name| field(name).and_then(|text| text.parse::<f64>().ok());
    let result = match (field("query"), number("start"), number("end"), number("step")) {
        (Some(metric), Some(start), Some(end), Some(step)) => range(&metric, start, end, step),
        _ => Vec::new(),
    };
    let body = serde_json::json!({"status": "success", "data": {"result": result}}).to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// A series for each port of b0 and c1: b0 pauses its leaf without end.
fn range(metric: &str, start: f64, end: f64, step: f64) -> Vec<serde_json::Value> {
    let ports = [("leaf-b", "leaf-b→b0"), ("b0", "b0→leaf-b"), ("c1", "c1→leaf-c")];
    let value = |port: &str, at: f64| match (metric, port) {
        ("xoff_port_up", _) => Some(1.0),
        ("xoff_paused_seconds_total", "leaf-b→b0") => Some(at),
        ("xoff_paused_seconds_total" | "xoff_link_down_events_total", _) => Some(0.0),
        ("xoff_pause_transitions_total", _) => Some(7.0),
        ("xoff_transmit_bytes_total", "leaf-b→b0") => Some(0.0),
        ("xoff_transmit_bytes_total", _) => Some(at * 6e9),
        _ => None,
    };
    let steps = ((end - start) / step).round() as u32;
    let series = |(device, port): &(&str, &str)| {
        let values: Option<Vec<_>> = (0..=steps)
            .map(|number| {
                let at = start + f64::from(number) * step;
                Some(serde_json::json!([at, value(port, at)?.to_string()]))
            })
            .collect();
        Some(serde_json::json!({"metric": {"device": device, "port": port}, "values": values?}))
    };
    ports.iter().filter_map(series).collect()
}

#[test]
fn a_store_once_has_what_is_missing_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::start();
    let plan = repository("examples/three-leaves-100g.toml");
    let out = xoff(folder.path())
        .args(["watch", &fake.url(), "--json", "--fabric"])
        .arg(&plan)
        .output()
        .unwrap();
    assert_eq!(code(&out), Some(1), "{}", stderr(&out));
    let answer = json(&out);
    assert_eq!(answer["state"], "fresh", "{answer}");
    assert_eq!(answer["findings"][0]["cause"], "pause-storm");
    assert_eq!(answer["findings"][0]["or_earlier"], true, "it began before the window");
    let links = answer["links"].as_array().unwrap();
    let link = links.iter().find(|link| link["link"] == "c1→leaf-c").unwrap();
    assert!(link["drops"].is_null() && link["peak"].as_f64().unwrap() > 0.4, "{link}");
    let text = xoff(folder.path())
        .args(["watch", &fake.url(), "--once", "--fabric"])
        .arg(&plan)
        .output()
        .unwrap();
    assert!(stdout(&text).contains("nic      ????S????▄??"), "{}", stdout(&text));
}

#[test]
fn a_store_that_goes_away_is_named_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::start();
    let plan = example("three-leaves-100g.toml");
    let command = format!("watch {} --fabric '{plan}' --interval 1s", fake.url());
    let Some(tmux) = Tmux::start((100, 30), folder.path(), &command) else { return };
    tmux.wait_for("b0: a pause storm from this NIC");
    tmux.wait_for("newest data ");
    fake.switch(false);
    let gone = tmux.wait_for("UNREACHABLE since ");
    assert!(gone.contains("b0: a pause storm from this NIC"), "the last picture stays\n{gone}");
    assert!(gone.contains("refused"), "why\n{gone}");
    tmux.wait_for("2 tries");
    fake.switch(true);
    for _ in 0..600 {
        tmux.press("r");
        if !tmux.shown().contains("UNREACHABLE") {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    let back = tmux.wait_for("newest data ");
    assert!(!back.contains("UNREACHABLE"), "{back}");
    tmux.press("q");
    tmux.ended(0);
}

#[test]
fn a_store_that_was_never_there_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::start();
    fake.switch(false);
    sleep(Duration::from_millis(200));
    let plan = example("three-leaves-100g.toml");
    let command = format!("watch {} --fabric '{plan}' --interval 1s", fake.url());
    let Some(tmux) = Tmux::start((80, 24), folder.path(), &command) else { return };
    tmux.wait_for("UNREACHABLE since ");
    tmux.wait_for("nothing has been received yet");
    fake.switch(true);
    tmux.wait_for("b0: a pause storm from this NIC");
    tmux.press("Escape");
    tmux.ended(0);
}
