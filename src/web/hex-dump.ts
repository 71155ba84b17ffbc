const rowBytes = 16;

/** Bytes as offset, hexadecimal and printable ASCII, sixteen to a line. */
export function dumpHex(bytes: Uint8Array): string {
  const rows: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += rowBytes) {
    const row = [...bytes.subarray(offset, offset + rowBytes)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    rows.push(`${offset.toString(16).padStart(8, "0")}  ${hex.padEnd(rowBytes * 3 - 1)}  ${ascii}`);
  }
  return rows.join("\n");
}
