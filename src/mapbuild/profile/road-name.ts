import type { Tags } from '../extract/osm-objects.js'

/** What people call a road: its name, else its number, else nothing. */
export function nameOf(tags: Tags): string {
  return tags.get('name') ?? tags.get('ref') ?? ''
}
