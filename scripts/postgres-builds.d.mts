export declare const builds: Record<number, { version: string; integrity: string }>;
export declare function folderOf(major: number): string;
export declare function fetchBuild(major: number): string;
