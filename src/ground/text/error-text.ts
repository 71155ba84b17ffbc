/** An error may quote all of what it is about, and a line of the log, or the reason of an alert, has room for its beginning. */
const longestText = 300;

/** With the kind of the error before its words: `Error: disk I/O error`. */
export const errorText = (error: unknown): string => String(error).slice(0, longestText);

/** Its words alone. */
export const errorMessage = (error: unknown): string => errorText(error instanceof Error ? error.message : error);
