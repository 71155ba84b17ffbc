export interface MultipartFile {
  /** The name of its field. */
  name: string;
  filename: string;
  contentType: string;
  bytes: Uint8Array;
}

/** `multipart/form-data` of some fields and one file. Names are ours and hold no quotes. */
export function writeMultipart(
  fields: Readonly<Record<string, string>>,
  file: MultipartFile,
): { contentType: string; body: Uint8Array } {
  const parts = Object.entries(fields).map(([name, value]) => ({
    head: `name="${name}"`,
    content: Buffer.from(value),
  }));
  parts.push({
    head: `name="${file.name}"; filename="${file.filename}"\r\ncontent-type: ${file.contentType}`,
    content: Buffer.from(file.bytes),
  });
  const boundary = boundaryOf(parts.map(({ content }) => content));
  const written = parts.flatMap(({ head, content }) => [
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
    content,
    Buffer.from("\r\n"),
  ]);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

/** What stands in none of them. */
function boundaryOf(contents: readonly Buffer[]): string {
  for (let number = 1; ; number += 1) {
    const boundary = `tocsin-part-${number}`;
    if (contents.every((content) => !content.includes(boundary))) return boundary;
  }
}
