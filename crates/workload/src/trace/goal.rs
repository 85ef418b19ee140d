//! GOAL schedules: per rank, sends, receives and computation, and which waits for which.
//!
//! The grammar is that of LogGOPSim: `num_ranks N`, then `rank R { … }` with one statement per line:
//! `l1: send 8b to 1 tag 5 cpu 0 nic 0`, `l2: recv 8b from 1`, `l3: calc 100 cpu 0` and `l3 requires l1`
//! (or `irequires`: once it has begun). Computation is in nanoseconds, LogGOPSim's unit. A receive may be
//! from `-1`, any rank, and a tag `-1`, any tag. Unlike there, a label may be used before it is
//! defined. What `txt2bin` makes of it is read, too.

mod binary;

use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::model::{Edge, Effort, Message, Operation, Rank, Stream, Tag, Who, Work};
use super::note::At;
use super::source::{Line, Source};
use std::collections::{BTreeMap, BTreeSet};
use xoff_units::{Bytes, Span};

pub(super) use binary::is_binary;

/// Reads a schedule.
pub(super) fn read(mut source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
    if is_binary(&source.head) {
        return binary::read(source, builder);
    }
    let name = source.name.clone();
    let mut parser = Parser::default();
    let mut buffer = Vec::new();
    loop {
        match source.line(&mut buffer)? {
            Line::End => break,
            Line::TooLong => {
                return Err(
                    source.line_error("a line of more than 1 MiB; statements end with their line")
                );
            }
            Line::Whole => {}
        }
        let at = At { file: &name, place: source.line_place(), rank: None };
        parser.line(&buffer, builder, at)?;
    }
    parser.end(builder, &name)
}

#[derive(Debug, Default)]
struct Parser {
    in_comment: bool,
    ranks: Option<u32>,
    block: Option<Block>,
    seen: BTreeSet<Rank>,
}

/// The statements of a rank.
#[derive(Debug)]
struct Block {
    rank: Rank,
    /// Where it begins, for messages.
    line: Place,
    count: u32,
    labels: BTreeMap<String, u32>,
    wanted: Vec<(String, String, Edge, Place)>,
}

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Number(u64),
    /// `-1`, which stands for any.
    Any,
    Symbol(char),
}

impl Parser {
    fn line(&mut self, line: &[u8], builder: &mut Builder, at: At<'_>) -> Outcome<()> {
        let fail = |text: String| TraceError::new(at.file, at.place, text);
        let code = self.without_comments(line);
        let tokens = tokens(&code).map_err(fail)?;
        let mut rest = tokens.as_slice();
        while let [first, after @ ..] = rest {
            rest = match (first, &mut self.block) {
                (Token::Symbol('}'), Some(_)) => {
                    self.close(builder, at.file)?;
                    after
                }
                (Token::Word("num_ranks"), None) => self.declare(after, builder, at)?,
                (Token::Word("rank"), None) => self.open(after, at)?,
                (_, Some(block)) => {
                    let end = rest.iter().position(|token| *token == Token::Symbol('}'));
                    let (statement, after) = rest.split_at(end.unwrap_or(rest.len()));
                    block.statement(statement, builder, at).map_err(|wrong| match wrong {
                        Wrong::Here(text) => fail(text),
                        Wrong::Told(error) => error,
                    })?;
                    after
                }
                (token, None) => {
                    let text = format!("{token} outside of a rank; expected `rank N {{`");
                    return Err(fail(text));
                }
            };
        }
        Ok(())
    }

    /// The line with its comments taken out.
    fn without_comments(&mut self, line: &[u8]) -> Vec<u8> {
        let mut code = Vec::with_capacity(line.len());
        let mut rest = line;
        while !rest.is_empty() {
            if self.in_comment {
                match rest.windows(2).position(|pair| pair == b"*/") {
                    Some(at) => (rest, self.in_comment) = (&rest[at + 2..], false),
                    None => break,
                }
            } else if rest.starts_with(b"//") {
                break;
            } else if rest.starts_with(b"/*") {
                code.push(b' ');
                (rest, self.in_comment) = (&rest[2..], true);
            } else {
                code.push(rest[0]);
                rest = &rest[1..];
            }
        }
        code
    }

    fn declare<'t, 'a>(
        &mut self,
        tokens: &'t [Token<'a>],
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<&'t [Token<'a>]> {
        let fail = |text: String| TraceError::new(at.file, at.place, text);
        let [Token::Number(ranks), after @ ..] = tokens else {
            return Err(fail("expected a number after `num_ranks`".into()));
        };
        if self.ranks.is_some() {
            return Err(fail("`num_ranks` is there twice".into()));
        }
        if *ranks == 0 {
            return Err(fail("a schedule for no rank at all".into()));
        }
        builder.at_least(*ranks, at)?;
        self.ranks = Some(builder.ranks());
        Ok(after)
    }

    fn open<'t, 'a>(&mut self, tokens: &'t [Token<'a>], at: At<'_>) -> Outcome<&'t [Token<'a>]> {
        let fail = |text: String| Err(TraceError::new(at.file, at.place, text));
        let [Token::Number(number), Token::Symbol('{'), after @ ..] = tokens else {
            return fail("expected `rank N {`".into());
        };
        let Some(ranks) = self.ranks else {
            return fail("`num_ranks N` must come before the first rank".into());
        };
        let rank = match u32::try_from(*number) {
            Ok(rank) if rank < ranks => Rank(rank),
            _ => return fail(format!("rank {number} of {ranks}; ranks count from 0")),
        };
        if !self.seen.insert(rank) {
            return fail(format!("rank {rank} is there twice; put its statements together"));
        }
        self.block = Some(Block {
            rank,
            line: at.place,
            count: 0,
            labels: BTreeMap::new(),
            wanted: Vec::new(),
        });
        Ok(after)
    }

    fn close(&mut self, builder: &mut Builder, file: &str) -> Outcome<()> {
        match self.block.take() {
            Some(block) => block.link(builder, file),
            None => Ok(()),
        }
    }

    fn end(self, builder: &mut Builder, file: &str) -> Outcome<()> {
        if let Some(block) = &self.block {
            let text =
                format!("rank {} is opened here and not closed: a `}}` is missing", block.rank);
            return Err(TraceError::new(file, block.line, text));
        }
        let Some(ranks) = self.ranks else {
            return Err(TraceError::new(file, Place::File, "there is no `num_ranks`"));
        };
        let at = At { file, place: Place::File, rank: None };
        for _ in self.seen.len() as u32..ranks {
            builder.notes.assumed("rank without statements: does nothing", at);
        }
        Ok(())
    }
}

/// What is wrong with a statement.
enum Wrong {
    Here(String),
    Told(TraceError),
}

impl From<String> for Wrong {
    fn from(text: String) -> Self {
        Wrong::Here(text)
    }
}

impl Block {
    fn statement(
        &mut self,
        tokens: &[Token<'_>],
        builder: &mut Builder,
        at: At<'_>,
    ) -> Result<(), Wrong> {
        let at = At { rank: Some(self.rank), ..at };
        match tokens {
            [
                Token::Word(from),
                Token::Word(word @ ("requires" | "irequires")),
                Token::Word(on),
            ] => {
                let most = builder.limits().dependencies as usize;
                if self.wanted.len() >= most {
                    return Err(format!("more than {most} dependencies").into());
                }
                let edge = if *word == "requires" { Edge::Control } else { Edge::Start };
                self.wanted.push(((*from).to_owned(), (*on).to_owned(), edge, at.place));
                Ok(())
            }
            [Token::Word(label), Token::Symbol(':'), operation @ ..] => {
                let known = self.labels.insert((*label).to_owned(), self.count);
                if known.is_some() {
                    return Err(
                        format!("label `{label}` is there twice in rank {}", self.rank).into()
                    );
                }
                self.operation(operation, builder, at)
            }
            operation => self.operation(operation, builder, at),
        }
    }

    fn operation(
        &mut self,
        tokens: &[Token<'_>],
        builder: &mut Builder,
        at: At<'_>,
    ) -> Result<(), Wrong> {
        const EXPECTED: &str = "expected `send N b to R`, `recv N b from R`, `calc N` or \
             `LABEL requires LABEL`";
        let (work, options) = match tokens {
            [Token::Word("calc"), Token::Number(nanoseconds), options @ ..] => {
                let span = Span::from_ns(1) * *nanoseconds;
                (Work::Compute(Effort { span, ..Effort::default() }), options)
            }
            [
                Token::Word("send"),
                Token::Number(size),
                Token::Word("b"),
                Token::Word("to"),
                Token::Number(peer),
                options @ ..,
            ] => (Work::Send(message(*size, self.peer(*peer, builder)?)), options),
            [
                Token::Word("recv"),
                Token::Number(size),
                Token::Word("b"),
                Token::Word("from"),
                Token::Number(peer),
                options @ ..,
            ] => (Work::Receive(message(*size, self.peer(*peer, builder)?)), options),
            [
                Token::Word("recv"),
                Token::Number(size),
                Token::Word("b"),
                Token::Word("from"),
                Token::Any,
                options @ ..,
            ] => (Work::Receive(message(*size, None)), options),
            [token, ..] => return Err(format!("{token} is not understood here; {EXPECTED}").into()),
            [] => return Err(format!("nothing after the label; {EXPECTED}").into()),
        };
        let mut operation =
            Operation { who: Who::One(self.rank), work, stream: None, measured: None };
        set_options(&mut operation, options, builder, at)?;
        builder.push(operation, at).map_err(Wrong::Told)?;
        self.count += 1;
        Ok(())
    }

    fn peer(&self, number: u64, builder: &Builder) -> Result<Option<Rank>, Wrong> {
        let ranks = builder.ranks();
        match u32::try_from(number) {
            Ok(peer) if peer < ranks => Ok(Some(Rank(peer))),
            _ => Err(format!("rank {number} of {ranks}; ranks count from 0").into()),
        }
    }

    fn link(self, builder: &mut Builder, file: &str) -> Outcome<()> {
        let mut links = Vec::with_capacity(self.wanted.len());
        for (from, on, edge, place) in &self.wanted {
            match (self.labels.get(from), self.labels.get(on)) {
                (Some(&from), Some(&on)) => links.push(Link { from, on, edge: *edge }),
                (None, _) => return Err(self.undefined(file, *place, from)),
                (_, None) => return Err(self.undefined(file, *place, on)),
            }
        }
        builder.link(links, file)?.map_err(|cycle| {
            let named = |at: u32| {
                let label = self.labels.iter().find(|(_, index)| **index == at);
                label.map_or(String::new(), |(label, _)| format!("`{label}`"))
            };
            let chain = cycle.describe(named);
            let text = format!("in rank {}, {chain}, so that none can start", self.rank);
            TraceError::new(file, self.line, text)
        })
    }

    fn undefined(&self, file: &str, place: Place, label: &str) -> TraceError {
        let text = format!("label `{label}` is not defined in rank {}", self.rank);
        TraceError::new(file, place, text)
    }
}

/// Tags are zero unless a statement says otherwise.
const fn message(size: u64, peer: Option<Rank>) -> Message {
    Message { peer, bytes: Some(Bytes::new(size)), tag: Some(Tag(0)) }
}

fn set_options(
    operation: &mut Operation,
    options: &[Token<'_>],
    builder: &mut Builder,
    at: At<'_>,
) -> Result<(), Wrong> {
    let mut rest = options;
    while let [name, value, after @ ..] = rest {
        let small = match value {
            Token::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        match (name, value, small, &mut operation.work) {
            (Token::Word("tag"), Token::Any, _, Work::Receive(message)) => message.tag = None,
            (Token::Word("tag"), _, Some(tag), Work::Send(message) | Work::Receive(message)) => {
                message.tag = Some(Tag(tag));
            }
            (Token::Word("cpu"), _, Some(cpu), _) => operation.stream = Some(Stream(cpu)),
            (Token::Word("nic"), _, Some(nic), Work::Send(_) | Work::Receive(_)) => {
                if nic > 0 {
                    builder.notes.skipped("choice of a NIC", at);
                }
            }
            _ => return Err(format!("{name} {value} is not understood here").into()),
        }
        rest = after;
    }
    match rest {
        [] => Ok(()),
        [last, ..] => Err(format!("{last} is not understood here").into()),
    }
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => {
                let short: String = word.chars().take(40).collect();
                write!(f, "`{short}`")
            }
            Token::Number(number) => write!(f, "`{number}`"),
            Token::Any => f.write_str("`-1`"),
            Token::Symbol(symbol) => write!(f, "`{symbol}`"),
        }
    }
}

/// Longest label: they are kept.
const LONGEST_WORD: usize = 256;

fn tokens(line: &[u8]) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_ascii();
    while let [first, ..] = rest {
        let taken = match first {
            b'0'..=b'9' => {
                let length = length_of(rest, u8::is_ascii_digit);
                let number = ascii(&rest[..length]).parse();
                tokens.push(Token::Number(number.map_err(|_| "a number of more than 64 bits")?));
                length
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let length = length_of(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                if length > LONGEST_WORD {
                    return Err(format!("a word of more than {LONGEST_WORD} letters"));
                }
                tokens.push(Token::Word(ascii(&rest[..length])));
                length
            }
            b':' | b'{' | b'}' => {
                tokens.push(Token::Symbol(char::from(*first)));
                1
            }
            b'-' if rest.starts_with(b"-1") => {
                tokens.push(Token::Any);
                2
            }
            other => {
                return Err(format!("`{}` is not understood here", other.escape_ascii()));
            }
        };
        rest = rest[taken..].trim_ascii_start();
    }
    Ok(tokens)
}

fn length_of(bytes: &[u8], fits: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !fits(byte)).unwrap_or(bytes.len())
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
