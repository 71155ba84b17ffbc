import { readdirSync, readFileSync } from "node:fs";
import { type DriverName, definitionOf, type TableName } from "./tables.ts";

export interface NumberedFile {
  /** 1 for `0001_….sql`. */
  number: number;
  name: string;
  sql: string;
}

/** `CREATE TABLE alerts (…)`: `tables.ts` lists the columns. */
const withoutColumns = /^CREATE TABLE (\w+) \(…\)/gm;

/** The numbered SQL files of a folder, in order. A missing number is a broken installation. */
export function readNumberedFiles(folder: URL, driver: DriverName): NumberedFile[] {
  const names = readdirSync(folder).filter((file) => /^\d{4}_.+\.sql$/.test(file));
  const files = names.sort().map((name) => ({
    ...{ number: Number(name.slice(0, 4)), name },
    sql: readFileSync(new URL(name, folder), "utf8").replaceAll(
      withoutColumns,
      (_, table: TableName) => `CREATE TABLE ${table} (${definitionOf(table, driver)})`,
    ),
  }));
  files.forEach(({ number, name }, index) => {
    const expected = (files[0] as NumberedFile).number + index;
    if (number !== expected) throw new Error(`migration ${expected} is missing before ${name}`);
  });
  return files;
}
