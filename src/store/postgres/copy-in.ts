import pg from "pg";
import type { MovedRow } from "../moved-tables.ts";
import type { ColumnKind } from "../tables.ts";
import { toText } from "./texts.ts";

/** COPY with rows in PostgreSQL's binary form: nothing is escaped here, and nothing parsed there. */
export async function copyIn(
  client: pg.Client,
  into: { table: string; columns: readonly { name: string; kind: ColumnKind }[] },
  rows: readonly MovedRow[],
): Promise<void> {
  const names = into.columns.map(({ name }) => name).join(", ");
  const kinds = into.columns.map(({ kind }) => kind);
  const query = new CopyIn(`COPY ${into.table} (${names}) FROM STDIN (FORMAT binary)`, encodeRows(rows, kinds));
  await new Promise<void>((resolve, reject) => {
    query.callback = (error) => (error ? reject(error) : resolve());
    client.query(query);
  });
}

interface CopyConnection {
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
}

/** node-postgres leaves what is sent to its caller: all of it is here already. */
class CopyIn extends pg.Query {
  callback: (error: Error | undefined) => void = () => {};

  constructor(
    text: string,
    private readonly data: Uint8Array,
  ) {
    super(text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.data);
    connection.endCopyFrom();
  }
}

/** https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format". */
function encodeRows(rows: readonly MovedRow[], kinds: readonly ColumnKind[]): Uint8Array {
  let buffer = Buffer.allocUnsafe(1 << 20);
  let end = 0;
  const need = (bytes: number) => {
    if (end + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, end + bytes));
    buffer.copy(larger, 0, 0, end);
    buffer = larger;
  };
  const int32 = (value: number) => {
    end = buffer.writeInt32BE(value, end);
  };
  // Halves of a number of 53 bits are quicker than a BigInt.
  const int64 = (value: number) => {
    int32(8);
    int32(Math.floor(value / 2 ** 32));
    end = buffer.writeUInt32BE(((value % 2 ** 32) + 2 ** 32) % 2 ** 32, end);
  };
  end += buffer.write("PGCOPY\n\xff\r\n\0", end, "latin1");
  int32(0);
  int32(0);
  for (const row of rows) {
    need(2 + kinds.length * 12);
    end = buffer.writeInt16BE(kinds.length, end);
    for (let index = 0; index < kinds.length; index += 1) {
      const value = row[index] ?? null;
      const kind = kinds[index] as ColumnKind;
      const left = (kinds.length - index) * 12;
      if (value === null) int32(-1);
      else if (typeof value === "string") {
        const text = toText(value);
        const bytes = Buffer.byteLength(text);
        need(bytes + left);
        int32(bytes);
        end += buffer.write(text, end);
      } else if (typeof value !== "number") {
        need(value.length + left);
        int32(value.length);
        buffer.set(value, end);
        end += value.length;
      } else if (kind === "int4") {
        int32(4);
        int32(value);
      } else if (kind === "flag") {
        int32(1);
        end = buffer.writeUInt8(value, end);
      } else if (kind === "time") int64((value - millennium) * 1_000);
      else int64(value);
    }
  }
  need(2);
  end = buffer.writeInt16BE(-1, end);
  return buffer.subarray(0, end);
}

/** From which PostgreSQL counts microseconds. */
const millennium = Date.UTC(2000, 0, 1);
