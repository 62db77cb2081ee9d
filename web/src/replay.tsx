// A stream frame by frame: what arrived, what could be written at that moment, and the message.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { json, type Loss, type Result } from "./api";
import { many } from "./pair";
import { visible } from "./text";

interface Gain {
  do: "open" | "add" | "close" | "end" | "fail";
  index?: number;
  kind?: string;
  name?: string;
  text?: string;
}
interface Step {
  in: string;
  out: string;
  gained: Gain[];
}
interface Found {
  steps: Step[];
  losses: Loss[];
}

const SPEEDS = [1, 4, 16, 64];
const BEAT = 400;
const WINDOW = 60; // so many frames are shown before the present one

export function Replay(props: {
  text: string;
  source: string;
  target: string;
  head: ComponentChildren;
  leftHead: ComponentChildren;
  result: Result | undefined;
}) {
  const [found, setFound] = useState<Found | null>(null);
  const [failed, setFailed] = useState("");
  const [now, setNow] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(4);
  const { text, source, target } = props;

  useEffect(() => {
    const control = new AbortController();
    setPlaying(false);
    json<Found>("replay", { text, source, target }, control.signal).then(
      (answer) => {
        setFound(answer);
        setFailed("");
        setNow(answer.steps.length);
      },
      (problem: Error) => !control.signal.aborted && setFailed(problem.message),
    );
    return () => control.abort();
  }, [text, source, target]);

  const count = found?.steps.length ?? 0;
  useEffect(() => {
    if (!playing) return;
    if (now >= count) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => setNow(Math.min(count, now + 1)), BEAT / speed);
    return () => clearTimeout(timer);
  }, [playing, now, speed, count]);

  const play = () => {
    if (!playing && now >= count) setNow(0);
    setPlaying(!playing);
  };
  const steps = found?.steps ?? [];
  const blocks = useMemo(() => grown(steps, now), [found, now]);
  const from = Math.max(0, now - WINDOW);
  const past = steps.slice(from, now);
  return (
    <div class="replay">
      <div class="player">
        <button type="button" class="primary" onClick={play}>
          {playing ? "Pause" : "Play"}
        </button>
        <button type="button" aria-label="one frame back" onClick={() => setNow(Math.max(0, now - 1))}>
          ‹
        </button>
        <button
          type="button"
          aria-label="one frame on"
          onClick={() => setNow(Math.min(count, now + 1))}
        >
          ›
        </button>
        <input
          type="range"
          aria-label="Frame"
          min={0}
          max={count}
          value={now}
          onInput={(event) => {
            setPlaying(false);
            setNow(Number(event.currentTarget.value));
          }}
        />
        <output>
          {now} / {count}
        </output>
        <div class="segments" role="group" aria-label="Speed">
          {SPEEDS.map((each) => (
            <button type="button" aria-pressed={each === speed} onClick={() => setSpeed(each)}>
              {each}×
            </button>
          ))}
        </div>
      </div>
      {failed && <p class="problem">{failed}</p>}
      <div class="flow">
        <section class="side" aria-label="What arrived">
          <header class="bar">{props.leftHead}</header>
          <Frames frames={past.map((step) => step.in)} first={from} label="Frames that arrived" />
        </section>
        <section class="side" aria-label="What could be written">
          <header class="bar">{props.head}</header>
          <Frames frames={past.map((step) => step.out)} first={from} label="Frames that were written" />
        </section>
        <section class="side message" aria-label="The message so far">
          <header class="bar">
            <h2>Message</h2>
            <span class="quiet">{many(found?.losses.length ?? 0, "loss", "losses")} at the end</span>
          </header>
          <div class="growing" tabindex={0} role="group" aria-label="Message so far">
            {blocks.map((block) => (
              <div class={`block ${block.kind}`}>
                <span class="sort">
                  {block.kind} {visible(block.name)}
                </span>
                <p dir="auto">{visible(block.text)}</p>
              </div>
            ))}
            {now >= count &&
              found?.losses.map((loss) => (
                <p class="loss-line">
                  <i class={`dot ${loss.kind}`} aria-hidden="true" /> {loss.kind} <b>{loss.what}</b>{" "}
                  <span class="quiet">{visible(loss.why)}</span>
                </p>
              ))}
          </div>
        </section>
      </div>
    </div>
  );
}

function Frames({ frames, first, label }: { frames: string[]; first: number; label: string }) {
  const box = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    const end = box.current;
    if (end) end.scrollTop = end.scrollHeight;
  }, [frames.length, first]);
  return (
    <ol class="frames" ref={box} tabindex={0} aria-label={label} start={first + 1}>
      {frames.map((frame, n) => (
        <li key={first + n} class={n === frames.length - 1 ? "now" : ""}>
          <span class="nr">{first + n + 1}</span>
          {frame ? <pre>{visible(frame)}</pre> : <span class="quiet">nothing yet</span>}
        </li>
      ))}
    </ol>
  );
}

interface Block {
  kind: string;
  name: string;
  text: string;
}

function grown(steps: Step[], now: number): Block[] {
  const out: Block[] = [];
  const by = new Map<number, Block>();
  for (const step of steps.slice(0, now))
    for (const gain of step.gained) {
      if (gain.do === "open") {
        const block = { kind: gain.kind ?? "", name: gain.name ?? "", text: gain.text ?? "" };
        by.set(gain.index!, block);
        out.push(block);
      } else if (gain.do === "add") {
        const block = by.get(gain.index!);
        if (block) block.text += gain.text ?? "";
      } else if (gain.do === "end" || gain.do === "fail")
        out.push({ kind: gain.do, name: "", text: gain.text ?? "" });
    }
  return out;
}
