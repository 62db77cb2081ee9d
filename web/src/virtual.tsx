// A list of which only what can be seen is there: heights are guessed until they are measured.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

const OVER = 600; // pixels beyond both edges

export interface Handle {
  go: (index: number) => void;
  first: () => number;
}

export function Virtual(props: {
  count: number;
  guess: (index: number) => number;
  row: (index: number) => ComponentChildren;
  need: (first: number, last: number) => void;
  handle: RefObject<Handle | null>;
  label: string;
  version: unknown; // other rows: heights are forgotten
  onFirst?: (index: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef<Float64Array>(new Float64Array(0));
  const known = useRef<Uint8Array>(new Uint8Array(0));
  const [tick, setTick] = useState(0);
  const [view, setView] = useState<[number, number]>([0, 800]);
  const goal = useRef<number | null>(null);

  useMemo(() => {
    heights.current = Float64Array.from({ length: props.count }, (_, n) => props.guess(n));
    known.current = new Uint8Array(props.count);
    goal.current = null;
    if (box.current) box.current.scrollTop = 0;
    setView([0, box.current?.clientHeight ?? 800]);
  }, [props.version, props.count]);

  const tops = useMemo(() => {
    const out = new Float64Array(props.count + 1);
    for (let n = 0; n < props.count; n++) out[n + 1] = out[n]! + heights.current[n]!;
    return out;
  }, [tick, props.version, props.count]);

  const at = (y: number): number => {
    let low = 0;
    let high = props.count;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return Math.min(low, Math.max(props.count - 1, 0));
  };
  const first = at(Math.max(view[0] - OVER, 0));
  const last = Math.min(at(view[1] + OVER) + 1, props.count);
  const top = at(view[0] + 1);

  useEffect(() => props.need(first, last), [first, last, props.version]);
  useEffect(() => props.onFirst?.(top), [top, props.version]);

  const look = () => {
    const held = box.current;
    if (held) setView([held.scrollTop, held.scrollTop + held.clientHeight]);
  };
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  // Measure what is there; what stands above must not push what is being read.
  useLayoutEffect(() => {
    const held = box.current!;
    let moved = 0;
    let changed = false;
    for (const row of held.querySelectorAll<HTMLElement>(":scope > .rows > [data-row]")) {
      const index = Number(row.dataset.row);
      const height = row.offsetHeight;
      const by = height - heights.current[index]!;
      if (Math.abs(by) < 0.5) continue;
      heights.current[index] = height;
      known.current[index] = 1;
      changed = true;
      if (goal.current === null && index < top) moved += by;
    }
    if (!changed) return;
    if (moved) held.scrollTop += moved;
    setTick((n) => n + 1);
  });
  useLayoutEffect(() => {
    if (goal.current !== null && box.current) box.current.scrollTop = tops[goal.current]!;
  }, [tops]);

  props.handle.current = {
    go: (index) => {
      goal.current = Math.max(0, Math.min(index, props.count - 1));
      if (box.current) box.current.scrollTop = tops[goal.current]!;
      look();
    },
    first: () => top,
  };

  // What was gone to stays in its place while others get theirs, until somebody moves on.
  const leave = () => {
    goal.current = null;
  };
  const rows: ComponentChildren[] = [];
  for (let n = first; n < last; n++)
    rows.push(
      <div data-row={n} key={n} role="listitem">
        {props.row(n)}
      </div>,
    );
  return (
    <div
      class="virtual"
      ref={box}
      onScroll={look}
      onWheel={leave}
      onPointerDown={leave}
      onKeyDown={leave}
      tabindex={0}
      role="list"
      aria-label={props.label}
    >
      <Space height={tops[first] ?? 0} />
      <div class="rows" role="presentation">
        {rows}
      </div>
      <Space height={(tops[props.count] ?? 0) - (tops[last] ?? 0)} />
    </div>
  );
}

// Heights are set on the element: the policy of the page allows no style in markup.
function Space({ height }: { height: number }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.style.height = `${Math.max(height, 0)}px`;
  }, [height]);
  return <div ref={box} role="presentation" />;
}
