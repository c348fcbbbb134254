import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { error, type Finding, ok, type Patient, warning } from './finding.js'

/** Bits of everybody but the owner. */
const OTHERS = 0o077

export function checkPermissions({ layout }: Patient): Finding[] {
  const { root, stateDb, dataDb, keyFile, mapsDir, modelsDir, filesDir, tempDir, partsDir } = layout
  const rootStat = statSync(root)
  const rootFault = accessFault(root)
  if (rootFault !== null) return [rootFault] // the same goes for all that is in it
  const findings: Finding[] = []
  for (const file of [root, stateDb, dataDb, keyFile, mapsDir, modelsDir, filesDir, tempDir, partsDir]) {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined) findings.push(...lookAt(file, found, rootStat, layout.keyFile))
  }
  return findings.length > 0
    ? findings
    : [ok(`everything belongs to user ${rootStat.uid}, and nobody else can read it`)]
}

function lookAt(file: string, found: Stats, rootStat: Stats, keyFile: string): Finding[] {
  const findings: Finding[] = []
  if (found.uid !== rootStat.uid)
    findings.push(
      error(
        `${file} belongs to user ${found.uid}, the data directory to user ${rootStat.uid}`,
        `chown -R ${rootStat.uid}:${rootStat.gid} ${file}`,
      ),
    )
  const fault = accessFault(file)
  if (fault !== null) findings.push(fault)
  const isPrivate = (found.mode & OTHERS) === 0
  const mode = (found.mode & 0o777).toString(8)
  // within a private directory the rights of a file do not matter, but for the key: it is copied about
  if (!isPrivate && file === keyFile)
    findings.push(error(`${file} has the mode ${mode}, expected 600`, `chmod 600 ${file}`))
  else if (!isPrivate && found.isDirectory() && found.ino === rootStat.ino)
    findings.push(warning(`${file} has the mode ${mode}, expected 700`, `chmod 700 ${file}`))
  return findings
}

function accessFault(file: string): Finding | null {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
    return null
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EROFS')
      return error(
        `the disk of ${file} is read-only`,
        'make a backup now (`fieldgate backup DIR` works on such a disk), look into `dmesg`, and replace the disk',
      )
    return error(
      `${file} cannot be read and written by user ${process.geteuid?.()}: ${messageOf(thrown)}`,
      'run as the user that owns it, or as root',
    )
  }
}
