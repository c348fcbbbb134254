import { type Db, statement } from '../connection/database.js'

/** Takes a number for the changes that follow in this transaction. @param nowUs µs UTC */
export function beginTransaction(db: Db, nowUs: number): number {
  return Number(statement(db, 'INSERT INTO row_transaction (at_us) VALUES (?)').run(nowUs).lastInsertRowid)
}

/** Returns the number of the newest transaction, 0 before the first. */
export function lastTransaction(db: Db): number {
  return statement<number>(db, 'SELECT max(tx) FROM row_transaction').pluck().get() ?? 0
}
