import type { Child, FC } from "hono/jsx";

export const Clock: FC<{ at: number }> = ({ at }) => {
  const iso = new Date(at).toISOString();
  return (
    <time class="clock" datetime={iso} title={iso}>
      {iso.slice(11, 19)}
    </time>
  );
};

/** The page's script writes the instant in the reader's own zone, as the applications do. */
export const Instant: FC<{ at: number; form: "time" | "date and time"; children?: Child }> = ({
  at,
  form,
  children,
}) => {
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime())) return <>{children ?? "Invalid date"}</>;
  const iso = instant.toISOString();
  return (
    <time class="instant" datetime={iso} data-form={form} title={iso}>
      {children ?? `${iso.slice(0, 16).replace("T", " ")} UTC`}
    </time>
  );
};

/** Other addresses than web addresses are shown as words. */
export const WebLink: FC<{ url: string; children?: Child }> = ({ url, children }) =>
  /^https?:\/\//i.test(url) ? (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  ) : (
    <span class="link">{children}</span>
  );

export const Picture: FC<{ src: string; alt: string; width?: number; height?: number }> = ({ alt, ...picture }) => (
  <img class="picture" alt={alt} {...picture} />
);
