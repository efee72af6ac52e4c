/** What `route --json` says of one key; `place` decides the fields that are not the usual ones. */
export const routed = (place: Record<string, unknown>) => ({
  kind: 'text',
  group: 0,
  member: null,
  reason: 'hash',
  note: null,
  also: [],
  created_at: null,
  error: null,
  ...place,
});
