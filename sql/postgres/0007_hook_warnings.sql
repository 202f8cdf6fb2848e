-- What differed from what the body of a delivery said it was, for people.
alter table hooks add column last_warned_at timestamptz(3);
alter table hooks add column last_warning text;
