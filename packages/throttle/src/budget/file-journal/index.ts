/**
 * A journal of budgets in a file: a program that starts again continues the same windows.
 *
 * @packageDocumentation
 */
export { type FileJournal, fileJournal, FileJournalError, type FileJournalOptions } from './file-journal.ts';
