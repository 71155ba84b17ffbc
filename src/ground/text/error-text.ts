/** An error may quote large contents. A line of the log, or the reason of an alert, has room for the beginning. */
const longestText = 300;

/** With the error's kind before its message: `Error: disk I/O error`. */
export const errorText = (error: unknown): string => String(error).slice(0, longestText);

/** The error's message alone. */
export const errorMessage = (error: unknown): string => errorText(error instanceof Error ? error.message : error);
