// A conversation as people read it: turns, calls with their results, tokens, a timeline, two of
// them side by side. The server reads it; here are the turns that can be seen.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type About, ask, json } from "./api";
import { many } from "./pair";
import { Menu, pickFile, useDrop, useRested } from "./parts";
import { visible } from "./text";
import { type Handle, Virtual } from "./virtual";

// role, characters, calls by number of their tool, errors, reasoning, tokens [in, cached, out]
type Row = [string, number, number[], number, number, [number, number, number] | null];

interface Overview {
  id: number;
  name: string;
  title: string;
  dialect: string;
  facet: string;
  facts: [string, string][];
  failure: string;
  tools: { name: string; takes: string; does: string }[];
  rows: Row[];
  names: string[];
}
type Item =
  | { is: "text"; pieces: [string, string][] }
  | { is: "refusal" | "note"; text: string }
  | { is: "reasoning"; kind: string; text: string; signed: string }
  | { is: "media"; kind: string; facts: string[]; image: string | null; text: string }
  | { is: "odd"; title: string; text: string }
  | {
      is: "call";
      name: string;
      id: string | null;
      fault: string;
      arguments: [string, string][];
      text: string;
      replies: Item[];
    }
  | { is: "reply"; items: Item[]; failed: boolean; of: string };
interface Turn {
  index: number;
  role: string;
  title: string;
  at: string;
  items: Item[];
  sources: string[];
  end: [string, string][];
  cut: boolean;
  tokens: { input?: number; cached?: number; output?: number } | null;
}
interface Differences {
  rows: [number | null, number | null, boolean][];
  differences: {
    kind: string;
    what: string[];
    a?: { at: string; value: unknown };
    b?: { at: string; value: unknown };
  }[];
}

const PAGE = 40;

export function Conversation({ about, shown }: { about: About; shown: boolean }) {
  const [one, setOne] = useState<Overview | null>(null);
  const [other, setOther] = useState<Overview | null>(null);
  const [found, setFound] = useState<Differences | null>(null);
  const [busy, setBusy] = useState("");
  const [failed, setFailed] = useState("");

  const open = async (data: Blob, name: string, second = false) => {
    setBusy(`reading ${name || "the conversation"}`);
    setFailed("");
    try {
      const next = await json<Overview>(`conversation?name=${encodeURIComponent(name)}`, data);
      if (second && one) {
        setFound(await json<Differences>(`conversation/${one.id}/differences?other=${next.id}`, {}));
        setOther(next);
      } else {
        setOne(next);
        setOther(null);
        setFound(null);
      }
    } catch (problem) {
      setFailed((problem as Error).message);
    }
    setBusy("");
  };
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    if (about.given)
      ask("given").then(async (answer) => latest.current(await answer.blob(), about.given!));
  }, []);
  const drop = useDrop((file) => open(file, file.name));
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text/plain");
    if (!text || (event.target as HTMLElement).closest("input, textarea")) return;
    open(new Blob([text]), "pasted");
  };
  const example = (name: string) =>
    json<{ text: string }>(`example/${name}`).then((answer) =>
      open(new Blob([answer.text]), ""),
    );

  return (
    <div
      class={`view conversation ${drop.over ? "dropping" : ""}`}
      hidden={!shown}
      onPaste={paste}
      {...drop.props}
    >
      {one ? (
        <Reader
          key={`${one.id}-${other?.id}`}
          one={one}
          other={other}
          found={found}
          busy={busy}
          failed={failed}
          open={() => pickFile((file) => open(file, file.name))}
          compare={() => pickFile((file) => open(file, file.name, true))}
          leave={() => {
            setOther(null);
            setFound(null);
          }}
        />
      ) : (
        <div class="start wide" tabindex={0}>
          <h2>Drop a session, a request or a response</h2>
          <p>Or paste one here. It is read by the server on this machine, and stays there.</p>
          <p>
            <button type="button" class="primary" onClick={() => pickFile((f) => open(f, f.name))}>
              Open a file
            </button>{" "}
            <Menu label="Example" value="" onChange={example} options={[["", "Example"], ...about.examples]} />
          </p>
          <p role="status">{busy}</p>
          {failed && <p class="problem">{failed}</p>}
        </div>
      )}
    </div>
  );
}

function Reader(props: {
  one: Overview;
  other: Overview | null;
  found: Differences | null;
  busy: string;
  failed: string;
  open: () => void;
  compare: () => void;
  leave: () => void;
}) {
  const { one, other, found } = props;
  const [words, setWords] = useState("");
  const [hits, setHits] = useState<number[] | null>(null);
  const [top, setTop] = useState(0);
  const [focus, setFocus] = useState<number | null>(null);
  const [tools, setTools] = useState(false);
  const list = useRef<Handle>(null);
  const searching = useRef<HTMLInputElement>(null);
  const wanted = useRested(words, 200);
  const left = useTurns(one.id);
  const right = useTurns(other?.id ?? 0);

  useEffect(() => {
    if (!wanted) return setHits(null);
    json<number[]>(`conversation/${one.id}/search`, { text: wanted }).then(setHits, () => setHits([]));
  }, [wanted, one.id]);

  const errors = useMemo(
    () => one.rows.flatMap((row, n) => (row[3] ? [n] : [])),
    [one],
  );
  const rows = found?.rows ?? null;
  const changed = useMemo(
    () => (rows ? rows.flatMap((row, n) => (row[2] ? [n] : [])) : []),
    [rows],
  );
  const go = (index: number) => {
    const place = rows ? rows.findIndex((row) => row[0] === index) : index;
    setFocus(index);
    list.current?.go(place);
  };
  const next = (from: number[] | null, back = false) => {
    if (!from?.length) return;
    const here = focus ?? top - 1;
    const found = back
      ? (from.findLast((each) => each < here) ?? from[from.length - 1]!)
      : (from.find((each) => each > here) ?? from[0]!);
    go(found);
  };
  const nextChange = () => {
    if (!changed.length) return;
    const found = changed.find((each) => each > top) ?? changed[0]!;
    list.current?.go(found);
  };

  const keys = (event: KeyboardEvent) => {
    const typing = (event.target as HTMLElement).closest("input, textarea, select");
    if (event.key === "Enter" && event.target === searching.current) next(hits, event.shiftKey);
    else if (typing) return;
    else if (event.key === "/") searching.current?.focus();
    else if (event.key === "e") next(errors);
    else if (event.key === "E") next(errors, true);
    else if (event.key === "n") next(hits);
    else if (event.key === "N") next(hits, true);
    else if (event.key === "j") go((focus ?? top - 1) + 1);
    else if (event.key === "k") go(Math.max(0, (focus ?? top) - 1));
    else return;
    event.preventDefault();
  };

  const total = useMemo(() => sums(one.rows), [one]);
  return (
    <div class="reader" onKeyDown={keys}>
      <div class="toolbar">
        <b class="name">{visible(one.name || one.title)}</b>
        {one.name && <span class="quiet">{one.title}</span>}
        <span class="grow" />
        <input
          ref={searching}
          type="search"
          placeholder="Search  /"
          aria-label="Search"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {hits && (
          <button type="button" disabled={!hits.length} onClick={() => next(hits)}>
            {many(hits.length, "turn")}
          </button>
        )}
        <button
          type="button"
          class={errors.length ? "bad" : ""}
          disabled={!errors.length}
          title="e: the next one, E: the one before"
          onClick={() => next(errors)}
        >
          {many(errors.length, "error")}
        </button>
        {other ? (
          <>
            <button type="button" onClick={nextChange} disabled={!changed.length}>
              {many(changed.length, "difference")}
            </button>
            <button type="button" onClick={props.leave}>
              Close {visible(other.name || "the other")}
            </button>
          </>
        ) : (
          <button type="button" onClick={props.compare}>
            Compare with
          </button>
        )}
        <button type="button" onClick={props.open}>
          Open
        </button>
        <span class="status" role="status">
          {props.busy}
        </span>
      </div>
      {props.failed && <p class="problem">{props.failed}</p>}
      <div class="facts">
        {one.facts.map(([key, value]) => (
          <span>
            {key && <i>{key}</i>} {visible(value)}
          </span>
        ))}
        {total.input + total.output > 0 && (
          <span>
            <i>tokens</i> {short(total.input)} in, {short(total.output)} out
            {total.cached > 0 &&
              `, ${Math.round((100 * total.cached) / Math.max(total.input, 1))} % from the cache`}
          </span>
        )}
        {one.tools.length > 0 && (
          <button type="button" class="plain" aria-expanded={tools} onClick={() => setTools(!tools)}>
            {many(one.tools.length, "tool")}
          </button>
        )}
        {one.failure && <span class="bad">{visible(one.failure)}</span>}
      </div>
      {tools && (
        <ul class="tools">
          {one.tools.map((tool) => (
            <li>
              <code>
                {visible(tool.name)}({visible(tool.takes)})
              </code>{" "}
              <span class="quiet">{visible(tool.does)}</span>
            </li>
          ))}
        </ul>
      )}
      <Timeline rows={one.rows} names={one.names} top={top} hits={hits} go={go} />
      <Virtual
        handle={list}
        label="Turns"
        version={`${one.id}/${other?.id ?? ""}`}
        count={rows ? rows.length : one.rows.length}
        guess={(n) => guess(rows ? (one.rows[rows[n]![0] ?? -1] ?? null) : one.rows[n]!, !!rows)}
        need={(first, last) => {
          if (!rows) return left.need(first, last);
          const part = rows.slice(first, last);
          left.need(...span(part.map((row) => row[0])));
          right.need(...span(part.map((row) => row[1])));
        }}
        onFirst={(n) => setTop(rows ? (rows[n]?.[0] ?? top) : n)}
        row={(n) =>
          rows ? (
            <div class={`both ${rows[n]![2] ? "differs" : ""}`}>
              <Cell n={rows[n]![0]} turns={left} words={wanted} />
              <Cell n={rows[n]![1]} turns={right} words={wanted} />
              {rows[n]![2] && <Notes row={rows[n]!} found={found!} left={left} right={right} />}
            </div>
          ) : (
            <Cell n={n} turns={left} words={wanted} on={focus === n} />
          )
        }
      />
    </div>
  );
}

function span(found: (number | null)[]): [number, number] {
  const known = found.filter((each) => each !== null);
  return known.length ? [Math.min(...known), Math.max(...known) + 1] : [0, 0];
}

function sums(rows: Row[]) {
  const out = { input: 0, cached: 0, output: 0 };
  for (const row of rows)
    if (row[5]) {
      out.input += row[5][0];
      out.cached += row[5][1];
      out.output += row[5][2];
    }
  return out;
}

function short(count: number): string {
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1e4 ? `${Math.round(count / 1000)}k` : count.toLocaleString("en");
}

function guess(row: Row | null, half: boolean): number {
  if (!row) return 60;
  const lines = Math.min(Math.ceil(row[1] / (half ? 60 : 110)), 40);
  return 52 + 20 * lines + 34 * row[2].length;
}

// -- the turns of one conversation, as far as they were asked for -----------------------------

interface Turns {
  get: (index: number) => Turn | undefined;
  need: (first: number, last: number) => void;
  whole: (index: number) => void;
}

function useTurns(id: number): Turns {
  const held = useRef(new Map<number, Turn>());
  const asked = useRef(new Set<number>());
  const [, setTick] = useState(0);
  useMemo(() => {
    held.current = new Map();
    asked.current = new Set();
  }, [id]);
  const need = useCallback(
    (first: number, last: number) => {
      if (!id) return;
      for (let page = Math.floor(first / PAGE); page * PAGE < last; page++) {
        if (asked.current.has(page)) continue;
        asked.current.add(page);
        json<Turn[]>(`conversation/${id}/turns?from=${page * PAGE}&to=${(page + 1) * PAGE}`).then(
          (turns) => {
            for (const turn of turns) held.current.set(turn.index, turn);
            setTick((n) => n + 1);
          },
          () => asked.current.delete(page),
        );
      }
    },
    [id],
  );
  const whole = useCallback(
    (index: number) => {
      json<Turn>(`conversation/${id}/turn?index=${index}`).then((turn) => {
        held.current.set(index, turn);
        setTick((n) => n + 1);
      });
    },
    [id],
  );
  return { get: (index) => held.current.get(index), need, whole };
}

function Cell(props: { n: number | null; turns: Turns; words: string; on?: boolean }) {
  if (props.n === null) return <div class="turn missing" />;
  const turn = props.turns.get(props.n);
  if (!turn) return <div class="turn loading" aria-busy="true" />;
  return (
    <Shown turn={turn} words={props.words} on={props.on ?? false} whole={() => props.turns.whole(turn.index)} />
  );
}

function Notes(props: {
  row: [number | null, number | null, boolean];
  found: Differences;
  left: Turns;
  right: Turns;
}) {
  const a = props.row[0] === null ? undefined : props.left.get(props.row[0])?.at;
  const b = props.row[1] === null ? undefined : props.right.get(props.row[1])?.at;
  const within = (at: string | undefined, place: string | undefined) =>
    !!at && !!place && (place === at || place.startsWith(`${at}/`));
  const notes = props.found.differences
    .filter((each) => within(a, each.a?.at) || within(b, each.b?.at))
    .slice(0, 6);
  if (!notes.length) return null;
  return (
    <ul class="notes">
      {notes.map((each) => (
        <li>
          {each.kind}: <b>{visible(each.what.join(" "))}</b>
        </li>
      ))}
    </ul>
  );
}

// -- a turn -----------------------------------------------------------------------------------

function Shown(props: { turn: Turn; words: string; on: boolean; whole: () => void }) {
  const { turn, words } = props;
  const tokens = turn.tokens;
  return (
    <article class={`turn ${turn.role} ${props.on ? "on" : ""}`}>
      <header>
        <b class="role">{turn.role}</b> {visible(turn.title)}
        <span class="grow" />
        {tokens && (
          <span class="tokens">
            {tokens.input ? `${short(tokens.input)} in` : ""}
            {tokens.cached ? ` (${short(tokens.cached)} cached)` : ""}
            {tokens.output ? ` ${short(tokens.output)} out` : ""}
          </span>
        )}
        {turn.end.map(([key, value]) => (
          <span class="tokens">
            {key} {visible(value)}
          </span>
        ))}
        <code class="at">{turn.at}</code>
        <span class="nr">{turn.index + 1}</span>
      </header>
      {turn.items.map((item) => (
        <Shape item={item} words={words} />
      ))}
      {turn.sources.length > 0 && (
        <ol class="sources">
          {turn.sources.map((source) => (
            <li>{visible(source)}</li>
          ))}
        </ol>
      )}
      {turn.cut && (
        <button type="button" class="plain" onClick={props.whole}>
          Show all of it
        </button>
      )}
    </article>
  );
}

function Shape({ item, words }: { item: Item; words: string }) {
  switch (item.is) {
    case "text":
      return (
        <p class="words" dir="auto">
          {item.pieces.map(([text, mark]) => (
            <>
              {marked(text, words)}
              {mark && <sup>{visible(mark)}</sup>}
            </>
          ))}
        </p>
      );
    case "refusal":
      return (
        <p class="words bad" dir="auto">
          {marked(item.text, words)}
        </p>
      );
    case "note":
      return <p class="note">{visible(item.text)}</p>;
    case "reasoning":
      return (
        <details class="reasoning" open={hit(item.text, words)}>
          <summary>
            {item.kind}
            {item.signed && <span class="quiet"> {visible(item.signed)}</span>}
            <span class="begin">{visible(item.text.slice(0, 110))}</span>
          </summary>
          <p class="words" dir="auto">
            {marked(item.text, words)}
          </p>
        </details>
      );
    case "media":
      return (
        <figure>
          {item.image && <img src={item.image} alt={`${item.kind} in the conversation`} />}
          <figcaption>
            {item.kind} {item.facts.map((fact) => <span>{visible(fact)} </span>)}
          </figcaption>
          {item.text && <pre>{marked(item.text, words)}</pre>}
        </figure>
      );
    case "odd":
      return (
        <details class="odd-block">
          <summary>{visible(item.title)}</summary>
          <pre>{marked(item.text, words)}</pre>
        </details>
      );
    case "call":
      return <Called item={item} words={words} />;
    case "reply":
      return <Answer item={item} words={words} />;
  }
}

function Called({ item, words }: { item: Extract<Item, { is: "call" }>; words: string }) {
  return (
    <div class="call">
      <div class="asked">
        <div class="head">
          <b>{visible(item.name)}</b>
          {item.fault && <span class="bad"> {visible(item.fault)}</span>}
        </div>
        {item.arguments.map(([key, value]) => (
          <div class={`argument ${value.length > 60 || value.includes("\n") ? "long" : ""}`}>
            <i>{visible(key)}</i>
            <pre>{marked(value, words)}</pre>
          </div>
        ))}
        {item.text && <pre>{marked(item.text, words)}</pre>}
      </div>
      <div class="answers">
        {item.replies.length ? (
          item.replies.map((reply) => <Shape item={reply} words={words} />)
        ) : (
          <p class="quiet">no result beside it</p>
        )}
      </div>
    </div>
  );
}

function Answer({ item, words }: { item: Extract<Item, { is: "reply" }>; words: string }) {
  return (
    <div class={`reply ${item.failed ? "failed" : ""}`}>
      {(item.of || item.failed) && (
        <div class="head">
          {item.failed && <b class="bad">error </b>}
          {visible(item.of)}
        </div>
      )}
      {item.items.map((each) => (
        <Shape item={each} words={words} />
      ))}
    </div>
  );
}

function hit(text: string, words: string): boolean {
  return words.length > 1 && text.toLowerCase().includes(words.toLowerCase());
}

function marked(text: string, words: string) {
  if (!hit(text, words)) return visible(text);
  const out = [];
  const lower = text.toLowerCase();
  const wanted = words.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    out.push(visible(text.slice(from, at)), <mark>{visible(text.slice(at, at + wanted.length))}</mark>);
    from = at + wanted.length;
  }
  out.push(visible(text.slice(from)));
  return out;
}

// -- the timeline -------------------------------------------------------------------------------

const COLOURS: Record<string, string> = {
  system: "--violet",
  developer: "--violet",
  user: "--blue",
  assistant: "--green",
  tool: "--amber",
};

function Timeline(props: {
  rows: Row[];
  names: string[];
  top: number;
  hits: number[] | null;
  go: (index: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [about, setAbout] = useState<number | null>(null);
  const [tick, setTick] = useState(0);
  const { rows, top, hits } = props;
  useEffect(() => {
    const again = () => setTick((n) => n + 1);
    const watch = new ResizeObserver(again);
    watch.observe(canvas.current!);
    const theme = new MutationObserver(again);
    theme.observe(document.documentElement, { attributes: true });
    return () => {
      watch.disconnect();
      theme.disconnect();
    };
  }, []);
  useEffect(() => paintTimeline(canvas.current!, rows, top, hits), [rows, top, hits, tick]);
  const at = (event: MouseEvent) => {
    const rect = canvas.current!.getBoundingClientRect();
    const part = (event.clientX - rect.left) / reach(rows.length, rect.width);
    return Math.max(0, Math.min(rows.length - 1, Math.floor(part * rows.length)));
  };
  const row = about === null ? null : rows[about];
  return (
    <div class="timeline">
      <canvas
        ref={canvas}
        role="slider"
        tabindex={0}
        aria-label="Timeline"
        aria-valuemin={1}
        aria-valuemax={rows.length}
        aria-valuenow={top + 1}
        aria-valuetext={`turn ${top + 1} of ${rows.length}`}
        onClick={(event) => props.go(at(event))}
        onMouseMove={(event) => setAbout(at(event))}
        onMouseLeave={() => setAbout(null)}
        onKeyDown={(event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20 }[event.key];
          if (by) props.go(Math.max(0, Math.min(rows.length - 1, top + by)));
          else if (event.key === "Home") props.go(0);
          else if (event.key === "End") props.go(rows.length - 1);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <div class="legend">
        {row ? (
          <>
            {about! + 1} of {rows.length}: {row[0]}, {row[1].toLocaleString("en")} characters
            {row[2].length > 0 &&
              `, ${row[2].map((n) => props.names[n]).slice(0, 4).join(", ")}`}
            {row[3] > 0 && `, ${many(row[3], "error")}`}
            {row[5] && `, ${short(row[5][0])} in, ${short(row[5][2])} out`}
          </>
        ) : (
          `${many(rows.length, "turn")}: height is length, the line is tokens in; red: an error`
        )}
      </div>
    </div>
  );
}

const WIDEST = 28;

// How far the bars reach: a few of them need not fill the page.
function reach(count: number, width: number): number {
  return Math.min(width, count * WIDEST);
}

function paintTimeline(canvas: HTMLCanvasElement, rows: Row[], top: number, hits: number[] | null) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width || !height) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const to = canvas.getContext("2d")!;
  to.scale(ratio, ratio);
  const look = getComputedStyle(document.documentElement);
  const colour = (name: string) => look.getPropertyValue(name).trim();
  const most = Math.log(2 + rows.reduce((max, row) => Math.max(max, row[1]), 0));
  const tokens = rows.reduce((max, row) => Math.max(max, row[5]?.[0] ?? 0), 0);
  const base = height - 4;
  const all = reach(rows.length, width);
  const columns = Math.min(rows.length, Math.floor(all));
  const wide = all / columns;
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * rows.length) / columns);
    const until = Math.max(from + 1, Math.floor(((column + 1) * rows.length) / columns));
    let longest = rows[from]!;
    let failed = false;
    for (let n = from; n < until; n++) {
      if (rows[n]![1] > longest[1]) longest = rows[n]!;
      failed ||= rows[n]![3] > 0;
    }
    const tall = Math.max(2, ((base - 4) * Math.log(1 + longest[1])) / most);
    to.globalAlpha = 0.75;
    to.fillStyle = colour(COLOURS[longest[0]] ?? "--soft");
    to.fillRect(column * wide, base - tall, Math.max(wide - (wide > 4 ? 1 : 0), 0.8), tall);
    to.globalAlpha = 1;
    if (failed) {
      to.fillStyle = colour("--red");
      to.fillRect(column * wide, base, Math.max(wide, 2), 4);
    }
  }
  if (tokens > 0) {
    to.beginPath();
    to.strokeStyle = colour("--ink");
    to.lineWidth = 1.2;
    to.globalAlpha = 0.55;
    let begun = false;
    rows.forEach((row, n) => {
      if (!row[5]) return;
      const x = ((n + 0.5) / rows.length) * all;
      const y = base - ((base - 4) * row[5][0]) / tokens;
      if (begun) to.lineTo(x, y);
      else to.moveTo(x, y);
      begun = true;
    });
    to.stroke();
    to.globalAlpha = 1;
  }
  to.fillStyle = colour("--accent");
  for (const n of hits ?? []) to.fillRect(((n + 0.5) / rows.length) * all - 1, 0, 2, 4);
  to.globalAlpha = 0.9;
  to.fillRect((top / Math.max(rows.length, 1)) * all, 0, 1.5, height);
  to.globalAlpha = 1;
}
