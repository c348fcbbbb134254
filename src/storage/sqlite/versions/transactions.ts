import { type Db, oneValue, statement } from '../connection/database.js'

/** Takes a number for the changes that follow in this transaction. @param nowUs µs UTC */
export function beginTransaction(db: Db, nowUs: number): number {
  return Number(statement(db, 'INSERT INTO row_transaction (at_us) VALUES (?)').run(nowUs).lastInsertRowid)
}

/** Returns the number of the newest transaction, 0 before the first. */
export function lastTransaction(db: Db): number {
  return oneValue(db, 'SELECT coalesce(max(tx), 0) FROM row_transaction')
}
