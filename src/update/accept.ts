import { compareVersions, readStatement, type Statement } from './statement.js'

/**
 * Reads the signature of a release and checks it: key and target. The same for every way that a release takes.
 *
 * @param text of the `.sig` file
 * @param publicKey value of `update.publicKey`
 * @param target such as `linux-x64`: that of this machine
 * @throws Error in one line that says what was found and what was expected
 */
export function acceptStatement(text: string, publicKey: string | undefined, target: string): Statement {
  if (publicKey === undefined)
    throw new Error('update.publicKey is not set: the signature of the release cannot be verified')
  const statement = readStatement(text, publicKey)
  if (statement.target !== target)
    throw new Error(`found a release for ${statement.target}, expected one for ${target}`)
  return statement
}

/** Checks that a release is newer than what runs. @throws Error in one line with both versions */
export function requireNewer({ version }: Statement, running: string): void {
  if (compareVersions(version, running) <= 0)
    throw new Error(`found version ${version}, expected one newer than ${running}`)
}

/** Returns the target of this machine, as releases name it. */
export function targetHere(): string {
  return `${process.platform}-${process.arch}`
}
