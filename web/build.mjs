// Builds the page into a folder: node build.mjs OUT. The same sources give the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const out = process.argv[2] ?? "../src/dragoman/workbench/static";
const MOST = 500_000;
mkdirSync(out, { recursive: true });
const page = await build({
  entryPoints: { page: "src/app.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  metafile: true,
});
await build({ entryPoints: { page: "src/style.css" }, outdir: out, minify: true });
copyFileSync("src/index.html", join(out, "index.html"));
copyFileSync("src/icon.svg", join(out, "icon.svg"));
// What of others is in the page, with the terms that must come with it.
const inside = Object.keys(page.metafile.outputs)
  .flatMap((name) => Object.keys(page.metafile.outputs[name].inputs))
  .flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
const terms = new Map();
for (const name of [...new Set(inside)].sort()) {
  const of = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  terms.set(text, [...(terms.get(text) ?? []), `npm:${name} ${of.version} ${of.license}`]);
}
const sections = [...terms].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
writeFileSync(join(out, "licenses.txt"), sections.join(`\n${"-".repeat(72)}\n\n`));
const size = readdirSync(out).reduce((sum, name) => sum + statSync(join(out, name)).size, 0);
console.log(`${out}: ${size.toLocaleString("en")} bytes`);
if (size >= MOST) throw new Error(`the page has ${size} bytes; ${MOST} are the limit`);
