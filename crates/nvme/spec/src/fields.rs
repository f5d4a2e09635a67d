//! Two macros for code that is repeated for each field: bit fields, and open enumerations.
//!
//! They only shift, mask and name. A value too wide for a field loses its upper bits, as in
//! hardware.

/// A number with bit fields: `getter / builder: type [lowest bit; width]`, or `getter / builder:
/// bool [bit]`.
macro_rules! bits {
    ($(#[$meta:meta])* $name:ident: $raw:ty {
        $( $(#[$field_meta:meta])* $get:ident / $set:ident: $kind:tt [$low:literal $(; $width:literal)?] )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(pub $raw);

        impl $name {
            $( bits!(@field $raw, $(#[$field_meta])* $get / $set: $kind [$low $(; $width)?]); )*
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($get), &self.$get()))*.finish()
            }
        }

        impl From<$raw> for $name {
            fn from(raw: $raw) -> $name {
                $name(raw)
            }
        }

        impl From<$name> for $raw {
            fn from(value: $name) -> $raw {
                value.0
            }
        }
    };
    (@field $raw:ty, $(#[$meta:meta])* $get:ident / $set:ident: bool [$bit:literal]) => {
        $(#[$meta])*
        #[inline]
        pub const fn $get(self) -> bool {
            self.0 >> $bit & 1 != 0
        }

        $(#[$meta])*
        #[must_use]
        #[inline]
        pub const fn $set(self, value: bool) -> Self {
            Self(self.0 & !(1 << $bit) | (value as $raw) << $bit)
        }
    };
    (@field $raw:ty, $(#[$meta:meta])* $get:ident / $set:ident: $kind:tt [$low:literal; $width:literal]) => {
        $(#[$meta])*
        #[inline]
        pub const fn $get(self) -> $kind {
            const { assert!($width <= <$kind>::BITS && <$raw>::MAX >> $low >> ($width - 1) != 0) };
            (self.0 >> $low & (<$raw>::MAX >> (<$raw>::BITS - $width))) as $kind
        }

        $(#[$meta])*
        #[must_use]
        #[inline]
        pub const fn $set(self, value: $kind) -> Self {
            let mask = <$raw>::MAX >> (<$raw>::BITS - $width);
            Self(self.0 & !(mask << $low) | (value as $raw & mask) << $low)
        }
    };
}

/// An open enumeration: a number with the names that the specification gives some of its values.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident: $raw:ty { $( $constant:ident = $value:literal, $text:literal; )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $raw);

        impl $name {
            $( #[doc = $text] pub const $constant: $name = $name($value); )*

            /// All values that have a name here.
            pub const NAMED: &[$name] = &[$($name::$constant),*];

            /// The specification's name, where this crate knows one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some($text), )*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{:#04x}", self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}({:#04x}, {})", stringify!($name), self.0, self.name().unwrap_or("no name"))
            }
        }
    };
}

pub(crate) use {bits, codes};
