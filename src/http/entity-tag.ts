/**
 * Whether `If-None-Match` names a tag: `*`, or a list of tags; weak ones are compared as if they were strong.
 *
 * @see RFC 9110 section 13.1.2
 */
export function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
