// Two documents with the ledger between them, linked both ways: what is pointed at on one side is
// shown on the other, and each loss is connected with its places.

import type { Action } from "@codemirror/lint";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { json, type Link, type Loss, type Place, type Problem } from "./api";
import { Editor, type Mark } from "./editor";
import { find, mapJson, type Range } from "./jsonmap";
import { visible } from "./text";

export interface Fix {
  label: string;
  run: (problem: Problem) => void;
}
export interface PairProps {
  left: string;
  right: string;
  links: Link[];
  places: Place[];
  losses: Loss[];
  fails?: number[];
  problems?: Problem[];
  rightProblems?: Problem[];
  leftJson?: boolean;
  rightJson?: boolean;
  leftLines?: boolean; // a file of JSON lines, even of one
  rightLines?: boolean;
  leftHead: ComponentChildren;
  rightHead: ComponentChildren;
  leftFoot?: ComponentChildren;
  rightFoot?: ComponentChildren;
  idle?: boolean; // there is no document
  message?: ComponentChildren; // instead of the result
  onLeft?: (text: string) => void;
  fixes?: (problem: Problem) => Fix[];
  narrow: "left" | "ledger" | "right";
}

interface Spot {
  left: Range | null;
  right: Range | null;
  label: string;
  loss: number | null;
  a: string | null;
  b: string | null;
}

type Active = Spot | null;

const NOTHING: [] = [];
const ROWS = 300; // so many losses are listed at first

export function Pair(props: PairProps) {
  const leftBox = useRef<HTMLDivElement>(null);
  const rightBox = useRef<HTMLDivElement>(null);
  const editors = useRef<{ left?: Editor; right?: Editor }>({});
  const main = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [pinned, setPinned] = useState<Active>(null);
  const [hover, setHover] = useState<Active>(null);
  const [hidden, setHidden] = useState<string[]>(NOTHING);
  const [most, setMost] = useState(ROWS);
  const [curves, setCurves] = useState<Curve[]>(NOTHING);
  const [leftText, setLeftText] = useState(props.left);
  const latest = useRef<Latest>(undefined as never);

  const leftMap = useMemo(
    () => (props.leftJson === false ? new Map<string, Range>() : mapJson(leftText, props.leftLines)),
    [leftText, props.leftJson, props.leftLines],
  );
  const rightMap = useMemo(
    () => (props.rightJson === false ? new Map<string, Range>() : mapJson(props.right, props.rightLines)),
    [props.right, props.rightJson, props.rightLines],
  );
  const spots = useMemo(() => {
    const of = (a: string | null, b: string | null, label: string, loss: number | null): Spot => ({
      left: a === null ? null : (find(leftMap, a) ?? null),
      right: b === null ? null : (find(rightMap, b) ?? null),
      label,
      loss,
      a,
      b,
    });
    const linked = props.links.map((each) => of(each.a, each.b, each.label, null));
    const lost = props.losses.map((loss, n) => {
      const place = props.places[n];
      return of(place ? place.a : loss.path, place ? place.b : null, loss.what, n);
    });
    return { linked, lost };
  }, [props.links, props.losses, props.places, leftMap, rightMap]);

  const active = hover ?? pinned;
  latest.current = { spots, props, active };

  const at = useCallback((side: "left" | "right", position: number): Active => {
    const { linked, lost } = latest.current.spots;
    let best: Spot | null = null;
    let size = Infinity;
    const look = (each: Spot) => {
      const range = each[side];
      if (!range || (each.loss !== null && each.a === "" && side === "left")) return;
      if (range.from <= position && position <= range.to && range.to - range.from < size) {
        best = each;
        size = range.to - range.from;
      }
    };
    linked.forEach(look);
    lost.forEach(look);
    return best;
  }, []);

  const pick = useCallback((spot: Active, from: "left" | "right" | "ledger") => {
    setPinned(spot);
    setHover(null);
    if (!spot) return;
    const { left, right } = editors.current;
    if (from !== "left" && spot.left) left?.reveal(spot.left.from);
    if (from !== "right" && spot.right) right?.reveal(spot.right.from);
    if (from !== "ledger") {
      const row = list.current?.querySelector(`[data-touches="true"]`);
      (row ?? null)?.scrollIntoView({ block: "nearest" });
    }
  }, []);

  const draw = useRef<() => void>(() => {});
  const scheduled = useRef(0);
  const redraw = useCallback(() => {
    if (scheduled.current) return;
    scheduled.current = requestAnimationFrame(() => {
      scheduled.current = 0;
      draw.current();
    });
  }, []);

  // The editors live as long as the view.
  useLayoutEffect(() => {
    const left = new Editor(leftBox.current!, {
      label: "Source document",
      text: latest.current.props.left,
      readOnly: !latest.current.props.onLeft,
      onChange: (text) => {
        setLeftText(text);
        latest.current.props.onLeft?.(text);
      },
      onPoint: (position) => setHover(position === null ? null : at("left", position)),
      onPick: (position) => pick(at("left", position), "left"),
      onMove: redraw,
    });
    const right = new Editor(rightBox.current!, {
      label: "Result",
      text: latest.current.props.right,
      readOnly: true,
      onPoint: (position) => setHover(position === null ? null : at("right", position)),
      onPick: (position) => pick(at("right", position), "right"),
      onMove: redraw,
    });
    editors.current = { left, right };
    const watch = new ResizeObserver(redraw);
    watch.observe(main.current!);
    return () => {
      watch.disconnect();
      left.destroy();
      right.destroy();
    };
  }, []);

  useEffect(() => {
    const editor = editors.current.left!;
    if (props.left !== editor.text) {
      editor.set(props.left);
      setPinned(null);
    }
    setLeftText(props.left);
  }, [props.left]);
  useEffect(() => {
    editors.current.right!.set(props.right);
    setPinned(null);
    setHover(null);
  }, [props.right]);

  // Marks, squiggles, and what is pointed at.
  useEffect(() => {
    const { left, right } = editors.current;
    left!.marks(marksOf(spots.lost, props, "left"));
    const made = spots.linked.filter((each) => each.a === null && each.right);
    right!.marks([
      ...made.map((each) => ({ from: each.right!.from, to: each.right!.to, kind: "invented" })),
      ...marksOf(spots.lost, props, "right").filter(
        (mark) =>
          mark.kind !== "invented" || !made.some((each) => each.right!.from === mark.from),
      ),
    ]);
    redraw();
  }, [spots]);
  useEffect(() => {
    editors.current.left!.diagnostics(squiggles(props.problems, leftMap, leftText, props.fixes));
  }, [props.problems, leftMap]);
  useEffect(() => {
    editors.current.right!.diagnostics(squiggles(props.rightProblems, rightMap, props.right));
  }, [props.rightProblems, rightMap]);
  useEffect(() => {
    editors.current.left!.active(active?.left ?? null);
    editors.current.right!.active(active?.right ?? null);
    redraw();
  }, [active, spots]);
  useEffect(redraw, [hidden, props.narrow]);

  draw.current = () => {
    const box = main.current?.getBoundingClientRect();
    const { left, right } = editors.current;
    if (!box || !left || !right || box.width < 900) return setCurves(NOTHING);
    setCurves(curvesOf(box, left, right, list.current!, latest.current));
  };

  const touched = useMemo(() => touches(active, spots.lost), [active, spots]);
  const shown = spots.lost.filter((each) => !hidden.includes(props.losses[each.loss!]!.kind));
  const counts = countKinds(props.losses);
  useEffect(() => setMost(ROWS), [props.losses]);

  const step = (by: number) => {
    if (!shown.length) return;
    const now = shown.findIndex((each) => each.loss === (pinned?.loss ?? -1));
    const place = (Math.max(now, by > 0 ? -1 : 0) + by + shown.length) % shown.length;
    const next = shown[place]!;
    if (place >= most) setMost(place + ROWS);
    pick(next, "ledger");
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-loss="${next.loss}"]`)?.focus(),
    );
  };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "F8") return;
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });

  return (
    <div class={`pair narrow-${props.narrow}`} ref={main}>
      <section class="side left" aria-label="Source">
        <header class="bar">{props.leftHead}</header>
        <div class="doc" ref={leftBox} />
        {props.leftFoot}
      </section>
      <section class="ledger" aria-label="Ledger">
        <header class="bar kinds">
          <h2>
            {props.losses.length
              ? many(props.losses.length, "loss", "losses")
              : props.idle || props.message
                ? "Ledger"
                : "Nothing lost"}
          </h2>
          {Object.entries(counts).map(([kind, count]) => (
            <button
              type="button"
              class={`kind ${kind}`}
              aria-pressed={!hidden.includes(kind)}
              title={hidden.includes(kind) ? `show ${kind}` : `hide ${kind}`}
              onClick={() =>
                setHidden(hidden.includes(kind) ? hidden.filter((k) => k !== kind) : [...hidden, kind])
              }
            >
              {count} {kind}
            </button>
          ))}
        </header>
        <div
          class="losses"
          ref={list}
          role={props.losses.length ? "list" : undefined}
          onScroll={redraw}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "j") step(1);
            else if (event.key === "ArrowUp" || event.key === "k") step(-1);
            else return;
            event.preventDefault();
          }}
        >
          {shown.slice(0, most).map((each) => (
            <Row
              key={each.loss}
              loss={props.losses[each.loss!]!}
              number={each.loss!}
              open={pinned?.loss === each.loss}
              touched={touched.has(each.loss!)}
              fails={props.fails?.includes(each.loss!) ?? false}
              onPick={() => pick(each, "ledger")}
              onPoint={(on) => setHover(on ? each : null)}
            />
          ))}
          {shown.length > most && (
            <div role="listitem">
              <button type="button" class="more" onClick={() => setMost(most + 10 * ROWS)}>
                {many(shown.length - most, "more loss", "more losses")}
              </button>
            </div>
          )}
          {props.losses.length === 0 && (
            <p class="quiet">
              {props.idle
                ? "Each loss stands here, connected with its places in both documents."
                : props.right && !props.message
                  ? "Everything that the source says is in the result."
                  : ""}
            </p>
          )}
        </div>
        <Here spot={active} />
      </section>
      <section class="side right" aria-label="Result">
        <header class="bar">{props.rightHead}</header>
        <div class={`doc ${props.message ? "covered" : ""}`} ref={rightBox} />
        {props.message && <div class="cover">{props.message}</div>}
        {props.rightFoot}
      </section>
      <svg class="curves" aria-hidden="true">
        {curves.map((each) => (
          <path key={each.id} class={each.kind} d={each.path} />
        ))}
      </svg>
    </div>
  );
}

interface Latest {
  spots: { linked: Spot[]; lost: Spot[] };
  props: PairProps;
  active: Active;
}

function Here({ spot }: { spot: Active }) {
  return (
    <div class="here" aria-live="polite">
      {spot ? (
        <>
          <b>{visible(spot.label)}</b>
          <code>{visible(spot.a ?? "not in the source")}</code>
          <span aria-hidden="true">→</span>
          <code>{visible(spot.b ?? "not written")}</code>
        </>
      ) : (
        <span class="quiet">Point at a part to see where it went. F8: next loss.</span>
      )}
    </div>
  );
}

function Row(props: {
  loss: Loss;
  number: number;
  open: boolean;
  touched: boolean;
  fails: boolean;
  onPick: () => void;
  onPoint: (on: boolean) => void;
}) {
  const { loss } = props;
  return (
    <div role="listitem">
      <button
        type="button"
        class={`loss ${props.touched ? "touched" : ""} ${props.fails ? "fails" : ""}`}
        data-loss={props.number}
        data-touches={props.touched}
        aria-expanded={props.open}
        onClick={props.onPick}
        onMouseEnter={() => props.onPoint(true)}
        onMouseLeave={() => props.onPoint(false)}
      >
        <span class="what">
          <i class={`dot ${loss.kind}`} aria-hidden="true" />
          <span class="sort">{loss.kind}</span> <b>{loss.what}</b>
          {props.fails && <span class="failing">--fail-on</span>}
        </span>
        <span class="why">{visible(loss.why)}</span>
        <code class="path">{visible(loss.path || "/")}</code>
      </button>
      {props.open && <Advice code={loss.what} />}
    </div>
  );
}

interface Explanation {
  kind: string;
  meaning: string;
  why: string;
  todo: string;
}

function Advice({ code }: { code: string }) {
  const [found, setFound] = useState<Explanation | null>(null);
  useEffect(() => {
    json<Explanation[]>(`explain?name=${encodeURIComponent(code)}`).then(
      (all) => setFound(all[0] ?? null),
      () => setFound(null),
    );
  }, [code]);
  if (!found) return null;
  return (
    <p class="advice">
      {found.why} {found.todo}
    </p>
  );
}

export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

const KINDS = ["dropped", "approximated", "invented", "moved", "renamed"];

function countKinds(losses: Loss[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const kind of KINDS) if (losses.some((loss) => loss.kind === kind)) out[kind] = 0;
  for (const loss of losses) out[loss.kind] = (out[loss.kind] ?? 0) + 1;
  return out;
}

function marksOf(lost: Spot[], props: PairProps, side: "left" | "right"): Mark[] {
  const out: Mark[] = [];
  for (const each of lost) {
    const range = each[side];
    const path = side === "left" ? each.a : each.b;
    if (!range || path === "" || path === null) continue;
    const { kind } = props.losses[each.loss!]!;
    const gone = props.places[each.loss!]?.gone;
    if (side === "right" ? kind === "dropped" : kind === "invented") continue;
    const name = kind === "dropped" ? (gone ? "gone" : "less") : kind;
    out.push({ from: range.from, to: range.to, kind: name });
  }
  return out;
}

function squiggles(
  problems: Problem[] | undefined,
  map: Map<string, Range>,
  text: string,
  fixes?: (problem: Problem) => Fix[],
) {
  return (problems ?? []).map((problem) => {
    const range = find(map, problem.path) ?? { from: 0, value: 0, to: 1 };
    const [from, to] = short(text, range);
    const actions: Action[] = (fixes?.(problem) ?? []).map((fix) => ({
      name: fix.label,
      apply: () => fix.run(problem),
    }));
    return {
      from,
      to,
      message: `${problem.rule}: ${problem.message}`,
      source: problem.path || "/",
      actions,
    };
  });
}

// Of what has several lines the first one that says something is marked.
function short(text: string, range: Range): [number, number] {
  const end = text.indexOf("\n", range.from);
  if (end < 0 || end >= range.to) return [range.from, range.to];
  const next = range.from + text.slice(range.from, range.to).search(/[^\s{[]/);
  if (next < range.from) return [range.from, range.from + 1];
  const line = text.indexOf("\n", next);
  return [next, line < 0 ? range.to : Math.min(line, range.to)];
}

function touches(active: Active, lost: Spot[]): Set<number> {
  const out = new Set<number>();
  if (!active) return out;
  const inside = (one: Range | null, other: Range | null) =>
    one && other && one.from >= other.from && one.to <= other.to;
  for (const each of lost)
    if (each === active) out.add(each.loss!);
    else if (active.loss === null && each.a !== "" && inside(each.left, active.left))
      out.add(each.loss!);
    else if (active.loss === null && active.a === null && inside(each.right, active.right))
      out.add(each.loss!);
  return out;
}

// -- curves -------------------------------------------------------------------------------------

interface Curve {
  id: string;
  kind: string;
  path: string;
}

const MOST_CURVES = 60;

function curvesOf(
  box: DOMRect,
  left: Editor,
  right: Editor,
  list: HTMLElement,
  latest: Latest,
): Curve[] {
  const out: Curve[] = [];
  const around = list.getBoundingClientRect();
  const from = left.view.scrollDOM.getBoundingClientRect().right - box.left;
  const to = right.view.scrollDOM.getBoundingClientRect().left - box.left;
  const inner = around.left - box.left;
  const outer = around.right - box.left;
  const { active, props } = latest;
  for (const row of list.querySelectorAll<HTMLElement>("[data-loss]")) {
    if (out.length > MOST_CURVES) break;
    const number = Number(row.dataset.loss);
    const rect = row.getBoundingClientRect();
    const y = rect.top + 14;
    if (y < around.top || y > around.bottom) continue;
    const spot = latest.spots.lost[number];
    if (!spot) continue;
    const kind = props.losses[number]!.kind;
    const on = active === spot || row.dataset.touches === "true" ? " on" : "";
    if (spot.left && spot.a !== "") {
      const there = left.heightOf(spot.left.from);
      if (there !== null)
        out.push({ id: `a${number}`, kind: kind + on, path: curve(from, there - box.top, inner, y - box.top) });
    }
    if (spot.right && spot.b) {
      const there = right.heightOf(spot.right.from);
      if (there !== null)
        out.push({ id: `b${number}`, kind: kind + on, path: curve(outer, y - box.top, to, there - box.top) });
    }
  }
  if (active && active.loss === null && active.left && active.right) {
    const one = left.heightOf(active.left.from);
    const other = right.heightOf(active.right.from);
    if (one !== null && other !== null)
      out.push({ id: "link", kind: "link on", path: curve(from, one - box.top, to, other - box.top) });
  }
  return out;
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.max((x2 - x1) / 2, 8);
  const n = (value: number) => value.toFixed(1);
  return `M${n(x1)} ${n(y1)}C${n(x1 + bend)} ${n(y1)} ${n(x2 - bend)} ${n(y2)} ${n(x2)} ${n(y2)}`;
}
