// Copies what tsc does not: SQL, styles, browser scripts and fonts, from src/ to the same place in dist/.
import { cpSync } from "node:fs";

cpSync("src", "dist", {
  recursive: true,
  filter: (path) => !/\.tsx?$/.test(path),
});
