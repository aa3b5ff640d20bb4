export { type FileJournal, fileJournal, FileJournalError, type FileJournalOptions } from './file-journal.ts';
