/** Why a value can't be taken and what to write instead; returned, not thrown, so that every value of a file gets its say. */
export class Complaint {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}
