// Builds the page into a folder: node build.mjs OUT. The same sources give the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const out = process.argv[2] ?? "../src/dragoman/workbench/static";
const MOST = 500_000;
mkdirSync(out, { recursive: true });
await build({
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
});
await build({ entryPoints: { page: "src/style.css" }, outdir: out, minify: true });
copyFileSync("src/index.html", join(out, "index.html"));
copyFileSync("src/icon.svg", join(out, "icon.svg"));
const size = readdirSync(out).reduce((sum, name) => sum + statSync(join(out, name)).size, 0);
console.log(`${out}: ${size.toLocaleString("en")} bytes`);
if (size >= MOST) throw new Error(`the page has ${size} bytes; ${MOST} are the limit`);
