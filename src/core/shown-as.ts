/** The members of a row that its shape has: what else the row has is not shown. */
export const shownAs = <Members extends object, const Row extends Readonly<Record<keyof Members, unknown>>>(
  { entries }: { readonly entries: Members },
  row: Row,
) =>
  Object.fromEntries(Object.keys(entries).map((name) => [name, row[name as keyof Members]])) as Pick<
    Row,
    keyof Members & keyof Row
  >
