// Traffic of a gateway, live: a row for each exchange, and what was said where that is kept.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type About, ask, json, type Link, type Loss, type Place, type TrafficState } from "./api";
import { many, Pair } from "./pair";
import { Menu, save, Segments, toast } from "./parts";
import { visible } from "./text";

interface Row {
  id: number;
  time: number;
  client: string;
  dialect: string;
  model: string;
  upstream: string;
  upstream_model: string;
  status: number;
  stream: boolean;
  ms: number | null;
  first_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  losses: Record<string, number>;
  error: string;
  open: boolean;
  contents: boolean;
}
interface Side {
  title: string;
  dialect: string | null;
  facet: string;
  text: string;
  stream: boolean;
}
interface Linked {
  a: Side | null;
  b: Side | null;
  links: Link[];
  places: Place[];
  losses: Loss[];
}
type Piece = [number, number, string];
interface Detail {
  row: Row;
  losses: Loss[];
  requested: number;
  headers?: Record<string, string>;
  upstream_headers?: Record<string, string>;
  upstream_status?: number;
  request?: Linked;
  answer?: Linked;
  pieces?: { in: Piece[]; out: Piece[] };
}
interface Change extends Partial<TrafficState> {
  rows: Row[];
  cleared: boolean;
}

const AGAIN = 2000;

export function Traffic({ about, shown }: { about: About; shown: boolean }) {
  if (!about.traffic)
    return (
      <div class="view traffic" hidden={!shown}>
        <div class="start wide">
          <h2>There is no gateway behind this page</h2>
          <p>
            <code>dragoman serve --ui</code> serves the workbench with the traffic of a gateway;{" "}
            <code>--ui-contents</code> keeps contents, in memory only, so that exchanges can be opened here.
          </p>
        </div>
      </div>
    );
  return <Watching first={about.traffic} shown={shown} />;
}

function Watching({ first, shown }: { first: TrafficState; shown: boolean }) {
  const [rows, setRows] = useState<Map<number, Row>>(new Map());
  const [state, setState] = useState(first);
  const [connected, setConnected] = useState(false);
  const [filter, setFilter] = useState("");
  const [opened, setOpened] = useState<number | null>(null);
  const list = useRef<HTMLTableSectionElement>(null);

  useEffect(() => {
    const control = new AbortController();
    const watch = async () => {
      while (!control.signal.aborted) {
        try {
          const answer = await ask("traffic/live", undefined, control.signal);
          setConnected(true);
          for await (const change of lines<Change>(answer.body!)) {
            if (change.upstreams)
              setState({
                contents: change.contents!,
                paused: change.paused!,
                upstreams: change.upstreams,
              });
            if (!change.rows.length && !change.cleared) continue;
            setRows((old) => {
              const next = new Map(change.cleared ? [] : old);
              for (const row of change.rows) next.set(row.id, row);
              return next;
            });
          }
        } catch {
          if (control.signal.aborted) return;
        }
        setConnected(false);
        await new Promise((done) => setTimeout(done, AGAIN));
      }
    };
    watch();
    return () => control.abort();
  }, []);

  const wanted = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...rows.values()].sort((a, b) => b.id - a.id);
    return all.filter((row) => words.every((word) => told(row).includes(word)));
  }, [rows, filter]);

  const post = (path: string, body: unknown = {}) =>
    json<TrafficState>(path, body).then(setState, (problem: Error) => toast(problem.message));
  const exported = async (form: string) => {
    const ids = filter ? `&ids=${wanted.filter((row) => row.contents).map((row) => row.id)}` : "";
    const base = encodeURIComponent(location.origin);
    const answer = await ask(`traffic/export?form=${form}&base=${base}${ids}`);
    save(form === "har" ? "traffic.har" : "traffic.yaml", await answer.blob());
  };
  const move = (by: number) => {
    const now = wanted.findIndex((row) => row.id === opened);
    const next = wanted[Math.max(0, Math.min(wanted.length - 1, now + by))];
    if (!next) return;
    setOpened(next.id);
    list.current?.querySelector<HTMLElement>(`[data-id="${next.id}"] button`)?.focus();
  };

  const row = opened === null ? undefined : rows.get(opened);
  return (
    <div class="view traffic" hidden={!shown}>
      <div class="toolbar">
        <span class={`lamp ${state.paused ? "" : connected ? "live" : "off"}`}>
          {state.paused ? "paused" : connected ? "live" : "not connected"}
        </span>
        <input
          type="search"
          placeholder="Filter: model, status, client, code"
          aria-label="Filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="quiet">
          {many(wanted.length, "exchange")}
          {wanted.length < rows.size && ` of ${rows.size}`}
        </span>
        <span class="grow" />
        <button
          type="button"
          aria-pressed={state.paused}
          onClick={() => post("traffic/pause", { paused: !state.paused })}
        >
          {state.paused ? "Go on" : "Pause"}
        </button>
        <button type="button" onClick={() => post("traffic/clear").then(() => setOpened(null))}>
          Clear
        </button>
        {state.contents && (
          <Menu
            label="Export"
            value=""
            onChange={exported}
            options={[
              ["", "Export"],
              ["har", "HAR"],
              ["cassette", "Test cassette"],
            ]}
          />
        )}
      </div>
      {!state.contents && (
        <p class="foot">
          Contents are not kept: start the gateway with <code>--ui-contents</code> to open exchanges
          and to export them.
        </p>
      )}
      <div class={`split ${row ? "opened" : ""}`}>
        <div class="table" tabindex={0} role="region" aria-label="Exchanges">
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Status</th>
                <th scope="col">Client</th>
                <th scope="col">Model</th>
                <th scope="col">Route</th>
                <th scope="col" class="number">ms</th>
                <th scope="col" class="number">In</th>
                <th scope="col" class="number">Out</th>
                <th scope="col">Losses</th>
              </tr>
            </thead>
            <tbody
              ref={list}
              onKeyDown={(event) => {
                if (event.key === "ArrowDown" || event.key === "j") move(1);
                else if (event.key === "ArrowUp" || event.key === "k") move(-1);
                else if (event.key === "Escape") setOpened(null);
                else return;
                event.preventDefault();
              }}
            >
              {wanted.map((each) => (
                <tr
                  key={each.id}
                  data-id={each.id}
                  class={each.id === opened ? "on" : ""}
                  onClick={() => setOpened(each.id)}
                >
                  <td>
                    <button type="button" class="plain" title={`open exchange ${each.id}`}>
                      {new Date(each.time * 1000).toLocaleTimeString("en-GB")}
                    </button>
                  </td>
                  <td>
                    <span class={`code ${each.open ? "" : each.status >= 400 ? "bad" : "good"}`}>
                      {each.status || "…"}
                    </span>
                    {each.stream && <span class="quiet"> stream</span>}
                  </td>
                  <td>
                    {visible(each.client || "-")} <span class="quiet">{each.dialect}</span>
                  </td>
                  <td class="model">{visible(each.model)}</td>
                  <td>
                    {visible(each.upstream || "-")}
                    {each.upstream_model && each.upstream_model !== each.model && (
                      <span class="quiet"> {visible(each.upstream_model)}</span>
                    )}
                  </td>
                  <td class="number">{each.ms === null ? "…" : Math.round(each.ms)}</td>
                  <td class="number">{each.input_tokens || ""}</td>
                  <td class="number">{each.output_tokens || ""}</td>
                  <td>
                    {each.error ? (
                      <span class="bad">{visible(each.error.slice(0, 80))}</span>
                    ) : (
                      <Codes losses={each.losses} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {rows.size === 0 && (
            <p class="quiet empty">
              Nothing has passed yet. Point a client's base URL at {location.origin}.
            </p>
          )}
        </div>
        {row && (
          <Opened
            key={row.id}
            row={row}
            upstreams={state.upstreams}
            close={() => setOpened(null)}
            open={setOpened}
          />
        )}
      </div>
    </div>
  );
}

function Codes({ losses }: { losses: Record<string, number> }) {
  const all = Object.entries(losses);
  return (
    <>
      {all.slice(0, 3).map(([code, count]) => {
        const [kind, what] = code.split(" ");
        return (
          <span class="code-count" title={code}>
            <i class={`dot ${kind}`} aria-hidden="true" />
            {what}
            {count > 1 && ` ×${count}`}
          </span>
        );
      })}
      {all.length > 3 && <span class="quiet">+{all.length - 3}</span>}
    </>
  );
}

function told(row: Row): string {
  const words = [row.client, row.dialect, row.model, row.upstream, row.status, row.error];
  return [...words, ...Object.keys(row.losses), row.stream ? "stream" : ""].join(" ").toLowerCase();
}

type Part = "request" | "answer" | "stream" | "headers";

function Opened(props: {
  row: Row;
  upstreams: string[];
  close: () => void;
  open: (id: number) => void;
}) {
  const { row } = props;
  const [detail, setDetail] = useState<Detail | null>(null);
  const [part, setPart] = useState<Part>("request");
  const [pane, setPane] = useState<"left" | "ledger" | "right">("left");
  useEffect(() => {
    json<Detail>(`traffic/${row.id}`).then(setDetail, (problem: Error) => toast(problem.message));
  }, [row.id, row.open, row.contents]);
  const replay = (upstream: string) =>
    json<{ id: number }>(`traffic/${row.id}/replay`, { upstream }).then(
      (answer) => props.open(answer.id),
      (problem: Error) => toast(problem.message),
    );
  const pair = detail?.[part === "answer" ? "answer" : "request"];
  return (
    <section class="opened-exchange" aria-label={`Exchange ${row.id}`}>
      <header class="bar">
        <Segments
          label="Part"
          value={part}
          options={[
            ["request", "Request"],
            ["answer", "Answer"],
            ["stream", "Stream"],
            ["headers", "Headers"],
          ]}
          onChange={setPart}
        />
        <div class="only-narrow">
          <Segments
            label="Pane"
            value={pane}
            options={[
              ["left", "From"],
              ["ledger", "Ledger"],
              ["right", "To"],
            ]}
            onChange={setPane}
          />
        </div>
        <span class="grow" />
        {row.contents && (
          <Menu
            label="Replay against"
            value=""
            onChange={replay}
            options={[
              ["", "Replay against"],
              ...props.upstreams.map((each): [string, string] => [each, each]),
            ]}
          />
        )}
        <button type="button" onClick={props.close} aria-label="close the exchange">
          Close
        </button>
      </header>
      {!detail ? null : !pair ? (
        <LossList losses={detail.losses} />
      ) : part === "stream" ? (
        <Pieces pieces={detail.pieces!} />
      ) : part === "headers" ? (
        <Headers detail={detail} />
      ) : (
        <Pair
          key={part}
          left={pair.a?.text ?? ""}
          right={pair.b?.text ?? ""}
          links={pair.links}
          places={pair.places}
          losses={pair.losses}
          leftHead={<Title side={pair.a} />}
          rightHead={<Title side={pair.b} />}
          narrow={pane}
        />
      )}
    </section>
  );
}

function Title({ side }: { side: Side | null }) {
  if (!side) return <h2>nothing</h2>;
  return (
    <>
      <h2>{side.title}</h2>
      <span class="quiet">
        {side.dialect} {side.facet}
        {side.stream && ", collected from the stream"}
      </span>
    </>
  );
}

function LossList({ losses }: { losses: Loss[] }) {
  return (
    <div class="plain-list" tabindex={0} role="region" aria-label="Ledger">
      <p class="quiet">
        {losses.length
          ? many(losses.length, "loss", "losses")
          : "Nothing was lost. Contents are not kept."}
      </p>
      {losses.map((loss) => (
        <p class="loss-line">
          <i class={`dot ${loss.kind}`} aria-hidden="true" /> {loss.kind} <b>{loss.what}</b>{" "}
          <code>{visible(loss.path || "/")}</code> <span class="quiet">{visible(loss.why)}</span>
        </p>
      ))}
    </div>
  );
}

function Pieces({ pieces }: { pieces: { in: Piece[]; out: Piece[] } }) {
  const all = [
    ...pieces.in.map((piece) => ({ piece, way: "in" })),
    ...pieces.out.map((piece) => ({ piece, way: "out" })),
  ].sort((a, b) => a.piece[0] - b.piece[0]);
  return (
    <ol class="pieces" tabindex={0} aria-label="Pieces with their times">
      {all.map(({ piece, way }) => (
        <li class={way}>
          <span class="when">{piece[0].toFixed(1)} ms</span>
          <span class="way">{way === "in" ? "upstream" : "to client"}</span>
          <pre>{visible(piece[2])}</pre>
        </li>
      ))}
    </ol>
  );
}

function Headers({ detail }: { detail: Detail }) {
  return (
    <div class="plain-list" tabindex={0} role="region" aria-label="Headers">
      <h3>Of the client, without keys</h3>
      <Named of={detail.headers ?? {}} />
      <h3>Of the upstream's reply{detail.upstream_status ? ` (${detail.upstream_status})` : ""}</h3>
      <Named of={detail.upstream_headers ?? {}} />
    </div>
  );
}

function Named({ of }: { of: Record<string, string> }) {
  return (
    <dl>
      {Object.entries(of).map(([name, value]) => (
        <>
          <dt>{visible(name)}</dt>
          <dd>{visible(value)}</dd>
        </>
      ))}
    </dl>
  );
}

async function* lines<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const parts = rest.split("\n");
    rest = parts.pop()!;
    for (const part of parts) if (part) yield JSON.parse(part) as T;
  }
}
