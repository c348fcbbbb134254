import { createHash } from 'node:crypto'
import { messageOf } from '../../errors.js'
import { member, refusal, shown } from './refusal.js'

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
const PREDICATE_TYPE = 'https://model_signing/signature/v1.0'

/** A signed file. */
export interface Resource {
  /** path below the model, with slashes; `.` for a model that is one file, in bundles of older programs */
  readonly name: string
  /** SHA-256, hex */
  readonly digest: string
}

/** Signed description of a model. */
export interface Statement {
  /** in the order of the statement, over which the root digest is computed */
  readonly resources: readonly Resource[]
  /** paths below the model that were not signed */
  readonly ignoredPaths: readonly string[]
}

/**
 * Reads a signed statement and compares its root digest.
 *
 * @throws AppError SIGNATURE_REFUSED with its reason
 */
export function readStatement(payload: Buffer): Statement {
  const statement = parse(payload)
  const type = member(statement, '_type')
  if (type !== STATEMENT_TYPE)
    throw refusal('statement_type', `_type: found ${shown(type)}, expected "${STATEMENT_TYPE}"`)
  const predicateType = member(statement, 'predicateType')
  if (predicateType !== PREDICATE_TYPE)
    throw refusal(
      'predicate_type',
      `predicateType: found ${shown(predicateType)}, expected "${PREDICATE_TYPE}"`,
    )
  const predicate = member(statement, 'predicate')
  const ignoredPaths = readSerialization(member(predicate, 'serialization'))
  const resources = readResources(member(predicate, 'resources'))
  compareRoot(member(statement, 'subject'), resources)
  return { resources, ignoredPaths }
}

/**
 * Makes the statement of a model.
 *
 * @param name name of the model
 * @param resources in the order in which they are listed and digested
 */
export function makeStatement(
  name: string,
  resources: readonly Resource[],
  ignoredPaths: readonly string[],
): Buffer {
  const statement = {
    _type: STATEMENT_TYPE,
    subject: [{ name, digest: { sha256: rootDigest(resources) } }],
    predicateType: PREDICATE_TYPE,
    predicate: {
      serialization: {
        method: 'files',
        hash_type: 'sha256',
        allow_symlinks: false,
        ignore_paths: ignoredPaths,
      },
      resources: resources.map(({ name, digest }) => ({ algorithm: 'sha256', digest, name })),
    },
  }
  return Buffer.from(JSON.stringify(statement))
}

function parse(payload: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch (error) {
    throw refusal('bad_statement', `payload: found no JSON text: ${messageOf(error).slice(0, 200)}`)
  }
}

/** @returns the ignored paths */
function readSerialization(value: unknown): string[] {
  const method = member(value, 'method')
  const hashType = member(value, 'hash_type')
  if (method !== 'files' || hashType !== 'sha256') {
    const found = `the method ${shown(method)} with ${shown(hashType)}`
    throw refusal('serialization', `predicate.serialization: found ${found}, expected "files" with "sha256"`)
  }
  const paths = member(value, 'ignore_paths') ?? []
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string'))
    throw badStatement('predicate.serialization.ignore_paths', paths, 'an array of paths')
  return paths
}

function readResources(value: unknown): Resource[] {
  if (!Array.isArray(value) || value.length === 0)
    throw badStatement('predicate.resources', value, 'an array of at least one file')
  const seen = new Set<string>()
  return value.map((resource, index) => {
    const at = `predicate.resources[${index}]`
    const name = member(resource, 'name')
    if (typeof name !== 'string' || !isPlainPath(name))
      throw badStatement(`${at}.name`, name, 'a path below the model')
    if (seen.has(name)) throw badStatement(`${at}.name`, name, 'each name once')
    seen.add(name)
    const algorithm = member(resource, 'algorithm')
    if (algorithm !== 'sha256') throw badStatement(`${at}.algorithm`, algorithm, '"sha256"')
    const digest = member(resource, 'digest')
    if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest))
      throw badStatement(`${at}.digest`, digest, '64 lower-case hex digits')
    return { name, digest }
  })
}

/** True for a path that stays below the model; `.` alone stands for a model that is one file. */
function isPlainPath(name: string): boolean {
  if (name === '.') return true
  return !name.includes('\0') && name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

function compareRoot(subject: unknown, resources: readonly Resource[]): void {
  if (!Array.isArray(subject) || subject.length !== 1) throw badStatement('subject', subject, 'one subject')
  const found = member(member(subject[0], 'digest'), 'sha256')
  const expected = rootDigest(resources)
  if (found !== expected)
    throw refusal(
      'root_digest',
      `subject[0].digest.sha256: found ${shown(found)}, expected ${expected}, that of the listed files`,
    )
}

/** SHA-256 over the raw digests in listed order. Programs sort differently, so they are never sorted here. */
function rootDigest(resources: readonly Resource[]): string {
  const hash = createHash('sha256')
  for (const { digest } of resources) hash.update(digest, 'hex')
  return hash.digest('hex')
}

function badStatement(path: string, found: unknown, expected: string) {
  return refusal('bad_statement', `${path}: found ${shown(found)}, expected ${expected}`)
}
