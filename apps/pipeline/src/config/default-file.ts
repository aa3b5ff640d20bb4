/** The configuration of a folder if the command line names none. */
export const DEFAULT_FILE = 'headgate.yaml';
