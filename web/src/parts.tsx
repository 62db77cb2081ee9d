// Small parts that the views share.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export function Menu(props: {
  label: string;
  value: string;
  options: [string, string][];
  onChange: (value: string) => void;
}) {
  return (
    <select
      aria-label={props.label}
      value={props.value}
      onChange={(event) => {
        props.onChange(event.currentTarget.value);
        event.currentTarget.value = props.value;
      }}
    >
      {props.options.map(([value, title]) => (
        <option value={value} key={value} selected={value === props.value}>
          {title}
        </option>
      ))}
    </select>
  );
}

export function Segments<T extends string>(props: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map(([value, title]) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

export function pickFile(take: (file: File) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file) take(file);
  });
  input.click();
}

export function useDrop(take: (file: File) => void) {
  const [over, setOver] = useState(false);
  return {
    over,
    props: {
      onDragOver: (event: DragEvent) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: (event: DragEvent) => {
        if (event.currentTarget === event.target) setOver(false);
      },
      onDropCapture: (event: DragEvent) => {
        const file = event.dataTransfer?.files[0];
        setOver(false);
        if (!file) return;
        event.preventDefault();
        event.stopPropagation();
        take(file);
      },
    },
  };
}

export function useNarrow<T>(first: T): [T, (value: T) => void] {
  return useState<T>(first);
}

const TOLD = 1800;

export function toast(text: string): void {
  const box = document.getElementById("toast");
  if (!box) return;
  box.textContent = text;
  box.classList.add("on");
  setTimeout(() => box.classList.remove("on"), TOLD);
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    toast("the browser does not allow copying");
  }
}

export function save(name: string, data: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// A value that follows another one after so many milliseconds of rest.
export function useRested<T>(value: T, wait: number): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return rested;
}

export function useLatest<T>(value: T) {
  const ref = useRef(value);
  ref.current = value;
  return useCallback(() => ref.current, []);
}
