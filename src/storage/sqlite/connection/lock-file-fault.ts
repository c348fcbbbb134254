import { messageOf } from '../../../errors.js'
import { isUnreadable } from './open-file.js'

/**
 * Returns an error of one line for a lock file that cannot be used, with its path and what to do; any other
 * error as it is. Lock files hold no data, so removing a damaged one loses nothing.
 *
 * @param file `lock.db` or `lease.db`
 */
export function lockFileFault(error: unknown, file: string): unknown {
  if (isUnreadable(error))
    return new Error(
      `${file} is not a lock file (${messageOf(error)}): it holds no data; stop every fieldgate program that uses its directory, remove the file, and start again`,
      { cause: error },
    )
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES' || code === 'EPERM' || code === 'SQLITE_READONLY')
    return new Error(
      `${file} cannot be written by user ${process.geteuid?.()} (${messageOf(error)}): run as the user that owns the directory, or give the file to this user`,
      { cause: error },
    )
  return error
}
