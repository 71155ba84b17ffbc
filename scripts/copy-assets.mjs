// Copies files that tsc does not: SQL, the stylesheet and fonts. Removes files from dist/ that src/ no longer has: a
// migration that stayed there under its old number would keep every relay from starting.
import { cpSync, existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const isAsset = (path) => !/\.tsx?$/.test(path);
const isBuilt = (path) =>
  path.startsWith("bundle") || (/(\.js(\.map)?|\.tsbuildinfo)$/.test(path) && !existsSync(join("src", path)));

cpSync("src", "dist", { recursive: true, filter: isAsset });
for (const path of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  if (statSync(join("dist", path)).isFile() && !isBuilt(path) && !existsSync(join("src", path))) {
    rmSync(join("dist", path));
  }
}
