import { readdirSync, readFileSync } from "node:fs";

export interface NumberedFile {
  /** The number before the name: 1 for `0001_….sql`. */
  number: number;
  name: string;
  sql: string;
}

/** The numbered SQL files of a folder, in their order. A missing number is a broken installation. */
export function readNumberedFiles(folder: URL): NumberedFile[] {
  const names = readdirSync(folder).filter((file) => /^\d{4}_.+\.sql$/.test(file));
  const files = names.sort().map((name) => ({
    ...{ number: Number(name.slice(0, 4)), name },
    sql: readFileSync(new URL(name, folder), "utf8"),
  }));
  files.forEach(({ number, name }, index) => {
    const expected = (files[0] as NumberedFile).number + index;
    if (number !== expected) throw new Error(`migration ${expected} is missing before ${name}`);
  });
  return files;
}
