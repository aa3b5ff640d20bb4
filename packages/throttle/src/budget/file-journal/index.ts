/**
 * Keeps the state of budgets in a file, so that a program that starts again continues the same windows.
 *
 * @packageDocumentation
 */
export { type FileJournal, fileJournal, FileJournalError, type FileJournalOptions } from './file-journal.ts';
