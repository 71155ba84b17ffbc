/**
 * Text to read and copy as it is. The line break at its start is the one that HTML leaves out of a `pre`. Bytes keep their columns
 * and scroll; the keyboard reaches what scrolls.
 */
export function CodeBlock({ id, text, isBytes = false }: { id?: string; text: string; isBytes?: boolean }) {
  const block = <pre id={id}>{`\n${text}`}</pre>;
  if (!isBytes) return block;
  return (
    <section class="bytes" aria-label="Bytes" tabindex={0}>
      {block}
    </section>
  );
}
